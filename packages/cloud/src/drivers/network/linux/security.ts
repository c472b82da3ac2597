import { formatIpv4, type Ipv4Range, rangeToCidrs } from '../../../domain/network/cidr.js';
import type { ChainMatch, CompiledSecurity, SecurityChain } from '../../../domain/network/compiler.js';
import { type NftChain, type NftElement, type NftSet, nftRule } from './nftables.js';

/** A range in the spelling in which nft lists it: an address, a CIDR, or first and last with a hyphen. */
export function renderRange(range: Ipv4Range): string {
  const [cidr = '', ...more] = rangeToCidrs(range);
  if (more.length > 0) return `${formatIpv4(range.first)}-${formatIpv4(range.last)}`;
  return cidr.replace(/\/32$/, '');
}

/**
 * Renders the chains of compiled security groups. They are gone to (not jumped to), so that `return` in an
 * egress chain means "passes here" and leads on to the ingress check, and `accept` in an ingress chain is
 * final. A chain that is the same object as before is rendered to the same object as before.
 */
export class SecurityChainRenderer {
  private readonly rendered = new WeakMap<SecurityChain, NftChain>();

  render(compiled: CompiledSecurity): Map<string, NftChain> {
    return new Map([...compiled.chains].map(([name, chain]) => [name, this.renderOne(chain)]));
  }

  private renderOne(chain: SecurityChain): NftChain {
    const rendered = this.rendered.get(chain) ?? renderChain(chain);
    this.rendered.set(chain, rendered);
    return rendered;
  }
}

/** The sets that the chains speak of. */
export function renderSecuritySets(compiled: CompiledSecurity): Map<string, NftSet> {
  return new Map(
    [...compiled.sets].map(([name, set]) => [
      name,
      {
        type: 'ipv4_addr',
        interval: set.kind === 'ranges',
        elements: new Map<string, NftElement>(
          (set.kind === 'ranges' ? set.ranges.map(renderRange) : set.addresses.map(formatIpv4)).map((key) => [
            key,
            {},
          ]),
        ),
      },
    ]),
  );
}

function renderChain(chain: SecurityChain): NftChain {
  const accept = chain.direction === 'egress' ? 'return' : 'accept';
  const verdict = (policy: 'accept' | 'drop'): string => (policy === 'accept' ? accept : 'drop');
  const [peerField, localField] = chain.direction === 'egress' ? ['daddr', 'saddr'] : ['saddr', 'daddr'];
  const render = (match: ChainMatch): string => {
    const parts: string[] = [];
    if (match.peer !== undefined) {
      parts.push(`ip ${peerField} ${'set' in match.peer ? `@${match.peer.set}` : renderRange(match.peer)}`);
    }
    if (match.local !== undefined) parts.push(`ip ${localField} ${renderRange(match.local)}`);
    if (match.sourcePorts === undefined && match.ports === undefined) {
      if (match.protocol !== undefined) parts.push(`meta l4proto ${match.protocol}`);
    } else {
      if (match.sourcePorts !== undefined)
        parts.push(`${match.protocol} sport ${renderPorts(match.sourcePorts)}`);
      if (match.ports !== undefined) parts.push(`${match.protocol} dport ${renderPorts(match.ports)}`);
    }
    return [...parts, verdict(match.verdict)].join(' ');
  };
  return { rules: [...chain.matches.map(render), verdict(chain.otherwise)].map(nftRule) };
}

function renderPorts({ first, last }: { readonly first: number; readonly last: number }): string {
  return first === last ? `${first}` : `${first}-${last}`;
}
