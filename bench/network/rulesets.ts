import type { VpcNetwork } from '@openegs/cloud/drivers/network/driver';
import { LinuxNetworkDriver } from '@openegs/cloud/drivers/network/linux/driver';
import { port, securityGroup, vpc } from './largeVpc.js';

const ruleCount = 20;

/** What a change of a VPC of many interfaces costs, in ms, one sample a round. */
export interface RulesetTimes {
  /** The whole VPC, new: router, subnet, name server, ports and rules. */
  readonly create: number[];
  /** All rules of all groups, into a VPC whose ports are there. */
  readonly apply: number[];
  /** One rule more in one group. */
  readonly addRule: number[];
  /** One rule less in one group, with a look at the flows that are open. */
  readonly removeRule: number[];
  /** One interface more. */
  readonly addPort: number[];
}

async function timed(task: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await task();
  return performance.now() - startedAt;
}

/** Instances in groups by turns, each group with 20 rules, applied and changed by the driver itself. */
export async function measureRulesets(options: {
  readonly tag: string;
  readonly instances: number;
  readonly groups: number;
  readonly rounds: number;
  readonly changesPerRound: number;
}): Promise<RulesetTimes> {
  const driver = await LinuxNetworkDriver.open({
    tag: options.tag,
    transitCidr: '100.96.0.0/16',
    fabricCidr: '100.97.0.0/16',
    metadataPort: 18_776,
  });
  const times: RulesetTimes = { create: [], apply: [], addRule: [], removeRule: [], addPort: [] };
  const groupsOf = (rules: number) =>
    Array.from({ length: options.groups }, (_, number) => securityGroup(number, rules));
  const full = groupsOf(ruleCount);
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      let network: VpcNetwork = vpc(full, options.instances);
      const apply = (next: VpcNetwork): Promise<number> => {
        network = next;
        return timed(() => driver.applyVpc(next));
      };
      const withGroups = (groups: VpcNetwork['security']['groups']): VpcNetwork => ({
        ...network,
        security: { ...network.security, groups },
      });
      times.create.push(await apply(network));
      await apply(withGroups(groupsOf(0)));
      times.apply.push(await apply(withGroups(full)));
      for (let change = 0; change < options.changesPerRound; change += 1) {
        const number = (change * 7) % options.groups;
        times.addRule.push(await apply(withGroups(full.with(number, securityGroup(number, ruleCount + 1)))));
        times.removeRule.push(await apply(withGroups(full)));
        const added = port(options.instances + change, full.slice(number, number + 1));
        times.addPort.push(await apply({ ...network, ports: [...network.ports, added] }));
      }
      await driver.removeVpc(network.id);
    }
  } finally {
    await driver.removeAll();
  }
  return times;
}
