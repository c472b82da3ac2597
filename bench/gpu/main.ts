import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HostCloud } from '@openegs/cloud/testing/hostCloud';
import { SignedClient } from '../lib/signedClient.js';
import { printTable } from '../lib/statistics.js';

/*
 * Work that instances get done on a software card (OpenCL by PoCL), beside the shares that they have of it:
 * all at once, and one alone. Needs root. The instances install PoCL from their distribution, or from a
 * directory with its packages where they cannot reach it.
 * Usage: node bench/dist/gpu/main.js [directory of .deb files] [seconds of each measurement]
 */

const packages = process.argv[2];
const seconds = Number(process.argv[3] ?? 10);
/** The tenants: types that have a half, a third and a sixth of a card. */
const types = ['ecs.vgn7i-vws-m12.3xlarge', 'ecs.vgn7i-vws-m8.2xlarge', 'ecs.vgn7i-vws-m4.xlarge'];
const root = { mode: 0o755, userId: 0, groupId: 0 };
/** Time to load the program and to compile its kernel. */
const warmUpSeconds = 20;

async function exec(host: HostCloud, name: string, script: string): Promise<string> {
  let output = '';
  const { exitCode } = await host.compute.exec(name, {
    command: ['/bin/sh', '-c', script],
    onOutput: (_stream, chunk) => {
      output += Buffer.from(chunk).toString('utf8');
    },
  });
  if (exitCode !== 0) throw new Error(`${name}: ${script} ended with ${exitCode}: ${output.slice(-500)}`);
  return output;
}

async function installPocl(host: HostCloud, name: string): Promise<void> {
  if (packages === undefined) {
    const install = 'apt-get install -y --no-install-recommends pocl-opencl-icd';
    await exec(host, name, `apt-get update && DEBIAN_FRONTEND=noninteractive ${install}`);
    return;
  }
  // Not in /tmp: an instance that still boots would lose it.
  await exec(host, name, 'mkdir -p /root/packages');
  for (const file of (await readdir(packages)).filter((each) => each.endsWith('.deb'))) {
    const [packageName = ''] = file.split('_');
    const status = `dpkg -s ${packageName} 2>/dev/null | grep -c '^Status: install ok installed' || true`;
    if ((await exec(host, name, status)).trim() === '1') continue;
    await host.compute.writeFile(name, `/root/packages/${file}`, await readFile(join(packages, file)), root);
  }
  await exec(host, name, 'DEBIAN_FRONTEND=noninteractive dpkg -i /root/packages/*.deb');
}

/** Kernels that each of the instances runs in the same time. */
async function measure(host: HostCloud, names: readonly string[]): Promise<number[]> {
  const start = Math.ceil(Date.now() / 1000) + warmUpSeconds;
  const outputs = names.map((name) => exec(host, name, `python3 /root/compute.py ${start} ${seconds}`));
  return (await Promise.all(outputs)).map(Number);
}

async function runPolicy(gpuPolicy: string): Promise<void> {
  const gpus = [{ kind: 'software', model: 'NVIDIA A10', memoryMiB: 24_576 }];
  const overcommit = { cpu: 32, memory: 64 };
  const host = await HostCloud.start({ host: { gpus, gpuPolicy, overcommit } });
  try {
    const client = new SignedClient(host.cloud.endpoint, host.cloud.credentials, 4);
    const names: string[] = [];
    for (const InstanceType of types) {
      const answer = await client.call('RunInstances', {
        RegionId: host.regionId,
        ImageId: 'debian_12_x64_egs',
        InstanceType,
      });
      const { InstanceIdSets } = answer as { InstanceIdSets: { InstanceIdSet: string[] } };
      names.push(...InstanceIdSets.InstanceIdSet);
    }
    await host.cloud.reconciler.idle();
    const program = await readFile(new URL('../../gpu/compute.py', import.meta.url));
    for (const name of names) {
      await installPocl(host, name);
      await host.compute.writeFile(name, '/root/compute.py', program, root);
    }
    const together = await measure(host, names);
    const [alone = 0] = await measure(host, names.slice(0, 1));
    const sum = together.reduce((total, each) => total + each, 0);
    console.log(`policy ${gpuPolicy}, ${seconds} s`);
    const rows = together.map((kernels, index) => ({
      type: types[index] ?? '',
      kernels,
      part: kernels / sum,
    }));
    printTable([...rows, { type: `${types[0]} alone`, kernels: alone, part: alone / sum }]);
  } finally {
    await host.stop();
  }
}

await runPolicy('weighted');
await runPolicy('fixed');
