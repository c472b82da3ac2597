import { ensureCgroups } from './cgroups.js';
import { type EngineFlavor, listEnginePackages } from './engine/flavor.js';
import { ensureLxcfs } from './lxcfs.js';
import { ensurePackages } from './packages.js';
import { type OnStep, step } from './steps.js';
import { ensureSubordinateIds } from './subordinateIds.js';
import { ensureSysctls } from './sysctls.js';

/** What networks of the cloud are made with, whatever the engine. */
export const networkPackages = ['iproute2', 'nftables', 'dnsmasq-base', 'conntrack'] as const;

/** What an engine of our own needs of the machine before it starts. Each step does nothing when it is done. */
export async function prepareMachine(flavor: EngineFlavor, onStep?: OnStep): Promise<void> {
  await step(onStep, 'Packages', async () =>
    ensurePackages([...(await listEnginePackages(flavor)), ...networkPackages]),
  );
  await step(onStep, 'Control groups', ensureCgroups);
  await step(onStep, 'Subordinate ids', ensureSubordinateIds);
  await step(onStep, 'Kernel parameters', ensureSysctls);
  await step(onStep, 'lxcfs', ensureLxcfs);
}
