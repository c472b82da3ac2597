import { formatIpv4, type Ipv4Range } from '../../../domain/network/cidr.js';
import type {
  ChainMatch,
  CompiledSecurity,
  CompiledSet,
  SecurityChain,
} from '../../../domain/network/compiler.js';
import { type NftChain, type NftElement, type NftSet, nftRule } from './nftables.js';

/** A range in the spelling in which nft lists it: an address, a CIDR, or first and last with a hyphen. */
export function renderRange(range: Ipv4Range): string {
  if (range.first === range.last) return formatIpv4(range.first);
  const bits = Math.log2(range.last - range.first + 1);
  const isCidr = Number.isInteger(bits) && range.first % 2 ** bits === 0;
  return `${formatIpv4(range.first)}${isCidr ? `/${32 - bits}` : `-${formatIpv4(range.last)}`}`;
}

/**
 * Renders the chains of compiled security groups, and the sets that they speak of. The chains are gone to
 * (not jumped to), so that `accept` in an ingress chain is final, and `return` in an egress chain means
 * "passes here" and leads on to the ingress check. What is the same object as before is rendered to the
 * same object as before.
 */
export class SecurityRenderer {
  private readonly chains = new WeakMap<SecurityChain, NftChain>();
  private readonly sets = new WeakMap<CompiledSet, NftSet>();

  renderChains(compiled: CompiledSecurity): Map<string, NftChain> {
    return renderAll(compiled.chains, this.chains, renderChain);
  }

  renderSets(compiled: CompiledSecurity): Map<string, NftSet> {
    return renderAll(compiled.sets, this.sets, renderSet);
  }
}

function renderAll<Value extends object, Rendered>(
  values: ReadonlyMap<string, Value>,
  known: WeakMap<Value, Rendered>,
  render: (value: Value) => Rendered,
): Map<string, Rendered> {
  const all = new Map<string, Rendered>();
  for (const [name, value] of values) {
    const rendered = known.get(value) ?? render(value);
    known.set(value, rendered);
    all.set(name, rendered);
  }
  return all;
}

function renderSet(set: CompiledSet): NftSet {
  const keys = set.kind === 'ranges' ? set.ranges.map(renderRange) : set.addresses.map(formatIpv4);
  return {
    type: 'ipv4_addr',
    interval: set.kind === 'ranges',
    elements: new Map<string, NftElement>(keys.map((key) => [key, {}])),
  };
}

function renderChain(chain: SecurityChain): NftChain {
  const accept = chain.direction === 'egress' ? 'return' : 'accept';
  const verdict = (policy: 'accept' | 'drop'): string => (policy === 'accept' ? accept : 'drop');
  const [peerField, localField] = chain.direction === 'egress' ? ['daddr', 'saddr'] : ['saddr', 'daddr'];
  const render = ({ protocol, ports, sourcePorts, peer, local, verdict: policy }: ChainMatch): string => {
    let text = '';
    if (peer !== undefined) text += `ip ${peerField} ${'set' in peer ? `@${peer.set}` : renderRange(peer)} `;
    if (local !== undefined) text += `ip ${localField} ${renderRange(local)} `;
    if (sourcePorts !== undefined) text += `${protocol} sport ${renderPorts(sourcePorts)} `;
    if (ports !== undefined) text += `${protocol} dport ${renderPorts(ports)} `;
    if (protocol !== undefined && ports === undefined && sourcePorts === undefined) {
      text += `meta l4proto ${protocol} `;
    }
    return text + verdict(policy);
  };
  // At the end of an ingress chain the policy drops; an egress chain leads on to the ingress check.
  const goesOn = chain.direction === 'egress' ? 'accept' : 'drop';
  const end = chain.otherwise === goesOn ? [] : [verdict(chain.otherwise)];
  return { rules: [...chain.matches.map(render), ...end].map(nftRule) };
}

function renderPorts({ first, last }: { readonly first: number; readonly last: number }): string {
  return first === last ? `${first}` : `${first}-${last}`;
}
