import type { VpcId } from '../../../domain/ids.js';
import { NetworkNames } from '../../../domain/network/names.js';
import { type NetworkDriver, NetworkError, type VpcNetwork } from '../driver.js';
import { checkVpcNetwork } from '../validation.js';

/** The promises of a `NetworkDriver` in memory: for API tests and for clouds without root. */
export class FakeNetworkDriver implements NetworkDriver {
  readonly names: NetworkNames;
  readonly metadataEndpoint: { readonly address: string; readonly port: number };
  /** What is applied, by VPC. */
  readonly networks = new Map<VpcId, VpcNetwork>();
  private failuresLeft = 0;

  private readonly checks: boolean;

  /** `checks: false` leaves out the validation of each call, which at 100,000 ports is what costs. */
  constructor(
    options: { readonly tag?: string; readonly metadataPort?: number; readonly checks?: boolean } = {},
  ) {
    this.checks = options.checks ?? true;
    this.names = new NetworkNames(options.tag ?? 'fake');
    this.metadataEndpoint = { address: '127.0.0.1', port: options.metadataPort ?? 0 };
  }

  /** Makes the next calls that change something fail, without effect. */
  failNext(calls = 1): void {
    this.failuresLeft = calls;
  }

  async applyVpc(network: VpcNetwork): Promise<void> {
    if (this.checks) checkVpcNetwork(network);
    this.failIfAsked();
    this.networks.set(network.id, network);
  }

  async resyncVpc(network: VpcNetwork): Promise<readonly string[]> {
    const wasThere = this.networks.has(network.id);
    await this.applyVpc(network);
    return wasThere ? [] : [`made ${network.id}`];
  }

  async removeVpc(id: VpcId): Promise<void> {
    this.failIfAsked();
    this.networks.delete(id);
  }

  async listVpcs(): Promise<readonly VpcId[]> {
    return [...this.networks.keys()];
  }

  async removeAll(): Promise<void> {
    this.failIfAsked();
    this.networks.clear();
  }

  async close(): Promise<void> {}

  private failIfAsked(): void {
    if (this.failuresLeft === 0) return;
    this.failuresLeft -= 1;
    throw new NetworkError('failed', 'the fake network was told to fail');
  }
}
