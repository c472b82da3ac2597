import { readFile, writeFile } from 'node:fs/promises';

/** Lower bounds, and values that must be so. */
const atLeast: Readonly<Record<string, number>> = {
  'net/ipv4/ip_forward': 1,
  // Each systemd in a guest takes several; the default of 128 is used up by about 20 instances.
  'fs/inotify/max_user_instances': 1024,
  'fs/inotify/max_user_watches': 1_048_576,
  // Each guest's session keyrings count against one user of the host.
  'kernel/keys/maxkeys': 2000,
};
const exactly: Readonly<Record<string, number>> = {
  // Bridged frames must skip the host's connection tracking, where equal addresses of two VPCs would meet.
  'net/bridge/bridge-nf-call-iptables': 0,
};

/**
 * Sets the kernel parameters that many containers and routed networks need, for this boot. One that this
 * kernel lacks is left out. Values above a bound stay.
 */
export async function ensureSysctls(): Promise<void> {
  for (const [name, wanted] of Object.entries(atLeast))
    await setSysctl(name, (value) => value >= wanted, wanted);
  for (const [name, wanted] of Object.entries(exactly))
    await setSysctl(name, (value) => value === wanted, wanted);
}

async function setSysctl(name: string, isFine: (value: number) => boolean, wanted: number): Promise<void> {
  const path = `/proc/sys/${name}`;
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text !== undefined && !isFine(Number(text))) await writeFile(path, `${wanted}\n`);
}
