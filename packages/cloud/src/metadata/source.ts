/** Whether and how an instance may read its metadata (RunInstances, ModifyInstanceMetadataOptions). */
export interface MetadataOptions {
  readonly endpoint: 'enabled' | 'disabled';
  /** `required`: only with a token. */
  readonly tokens: 'optional' | 'required';
  /** How many hops the answer with a token may travel: 1 is the instance itself, not what runs behind it. */
  readonly putResponseHopLimit: number;
}

export interface InterfaceMetadata {
  readonly id: string;
  readonly macAddress: string;
  readonly primaryAddress: string;
  /** All private addresses, the primary one first. */
  readonly addresses: readonly string[];
  readonly vpcId: string;
  readonly vpcCidr: string;
  readonly vSwitchId: string;
  readonly vSwitchCidr: string;
}

export interface DiskMetadata {
  readonly id: string;
  readonly name: string;
}

/** What an instance may know of itself. What one request rarely needs is read only when asked for. */
export interface InstanceMetadata {
  readonly id: string;
  readonly accountId: string;
  readonly regionId: string;
  readonly zoneId: string;
  readonly name: string;
  readonly hostName: string;
  readonly instanceType: string;
  readonly imageId: string;
  readonly serialNumber: string;
  readonly options: MetadataOptions;
  /** Decoded; any bytes. Absent: the instance was given none. */
  readonly userData?: Buffer;
  /** In each direction, as the type promises. Absent: the type promises nothing. */
  readonly bandwidthKbits?: number;
  readonly keyPairName?: string;
  /** The EIP, or the public address that came with the instance. */
  readonly publicAddress?: string;
  /** The primary one first. */
  interfaces(): Promise<readonly InterfaceMetadata[]>;
  disks(): Promise<readonly DiskMetadata[]>;
  tags(): Promise<readonly { readonly key: string; readonly value: string }[]>;
  /** The public half of the key pair in OpenSSH's form; `undefined` when the key pair is gone. */
  publicKey(): Promise<string | undefined>;
}

/** Where the metadata service looks instances up. */
export interface MetadataSource {
  /**
   * The instance that calls from a fabric address, which tells it apart from those with the same private
   * address in other VPCs. `undefined`: no instance has it.
   */
  findCaller(fabricAddress: string): Promise<InstanceMetadata | undefined>;
}
