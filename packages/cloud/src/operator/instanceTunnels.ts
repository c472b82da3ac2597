import { spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import type { InstanceId } from '../domain/ids.js';
import type { NetworkNames } from '../domain/network/names.js';
import type { Reader } from '../store/store.js';

/** There is no way into the instance now; the message says why. */
export class TunnelError extends Error {
  override readonly name = 'TunnelError';
  constructor(
    readonly code: 'InstanceNotFound' | 'InstanceNotRunning' | 'NoNetwork',
    message: string,
  ) {
    super(message);
  }
}

export interface InstanceTunnelsOptions {
  readonly reader: Reader;
  readonly names: NetworkNames;
  /** False on the fake engine, whose instances have no network. */
  readonly hasNetwork: boolean;
}

/** Run inside a VPC's network namespace: joins its own input and output with a TCP port. */
const connectProgram = `
const socket = require('node:net').connect(Number(process.argv[2]), process.argv[1]);
socket.setNoDelay(true);
socket.on('error', (error) => { console.error(error.message); process.exit(1); });
process.stdin.pipe(socket).pipe(process.stdout);`;

/**
 * Ways for the operator into instances. Private addresses are not routed from the host, and two VPCs may
 * have the same ones: so each connection is made from inside the VPC's own router.
 */
export class InstanceTunnels {
  constructor(private readonly options: InstanceTunnelsOptions) {}

  /** Connects to a TCP port of a running instance. */
  async open(instanceId: string, port: number): Promise<Duplex> {
    const row = await this.options.reader
      .selectFrom('instances')
      .innerJoin('networkInterfaces', 'networkInterfaces.instanceId', 'instances.id')
      .innerJoin('privateAddresses', 'privateAddresses.networkInterfaceId', 'networkInterfaces.id')
      .select(['instances.vpcId', 'instances.status', 'privateAddresses.address'])
      .where('instances.id', '=', instanceId as InstanceId)
      .where('networkInterfaces.type', '=', 'Primary')
      .where('privateAddresses.isPrimary', '=', 1)
      .executeTakeFirst();
    if (!row) throw new TunnelError('InstanceNotFound', `there is no instance "${instanceId}"`);
    if (row.status !== 'Running') {
      throw new TunnelError('InstanceNotRunning', `the instance "${instanceId}" is ${row.status}`);
    }
    if (!this.options.hasNetwork) {
      throw new TunnelError('NoNetwork', 'instances of the fake engine have no network: use instance exec');
    }
    const namespace = `/run/netns/${this.options.names.namespace(row.vpcId)}`;
    const child = spawn(
      'nsenter',
      [`--net=${namespace}`, process.execPath, '-e', connectProgram, row.address, String(port)],
      { stdio: ['pipe', 'pipe', 'ignore'] },
    );
    child.on('error', () => child.stdout.destroy());
    const tunnel = Duplex.from({ readable: child.stdout, writable: child.stdin });
    tunnel.on('close', () => child.kill());
    return tunnel;
  }
}
