import { printTable, summarize } from '../lib/statistics.js';
import { measurePropagation } from './propagation.js';
import { measureRulesets, type RulesetTimes } from './rulesets.js';
import { limitMbits, measureThroughput } from './throughput.js';

/*
 * What a VPC costs: packets beside a plain bridge, the time until a rule counts, and changes in a VPC of
 * 1,000 instances. Needs root and iperf3. Usage: node bench/dist/network/main.js [rounds]
 */

const rounds = Number(process.argv[2] ?? 7);
const secondsPerRun = 2;
const instances = 1000;
const changesPerRound = 10;

// Of this process, so that what a killed run left behind does not meet the next.
const tag = `n${(process.pid % 46_656).toString(36).padStart(3, '0')}`;
const rows: { what: string; value: string; 'beside a plain bridge': string; aim: string }[] = [];

function median(samples: readonly number[]): number {
  return summarize(samples).p50;
}

function row(what: string, value: string, aim = '', ratio?: number): void {
  rows.push({
    what,
    value,
    'beside a plain bridge': ratio === undefined ? '' : `${ratio.toFixed(2)} ×`,
    aim,
  });
}

function timeRow(what: string, samples: readonly number[], aim?: string): void {
  const { p50, p95 } = summarize(samples);
  row(what, `${p50.toFixed(1)} ms (p95 ${p95.toFixed(1)})`, aim);
}

function rulesetRows(groups: number, times: RulesetTimes): void {
  const of = `${instances} instances, ${groups} groups × 20 rules`;
  timeRow(`${of}: all rules applied`, times.apply, '500 ms');
  timeRow(`${of}: one rule more`, times.addRule, '30 ms');
  timeRow(`${of}: one rule less, flows cut`, times.removeRule, '30 ms');
  timeRow(`${of}: one port more`, times.addPort, '30 ms');
  timeRow(`${of}: VPC made from nothing`, times.create);
}

const throughput = await measureThroughput({ tag, rounds, secondsPerRun });
const { plain } = throughput;
for (const [name, samples] of [
  ['in a VPC, 1 group', throughput.vpc],
  ['in a VPC, 50 groups, 1000 ports', throughput.vpcOf50Groups],
] as const) {
  const [tcp, udp] = [median(samples.tcpGbits), median(samples.udpKpps)];
  row(`TCP ${name}`, `${tcp.toFixed(2)} Gbit/s`, '0.93 ×', tcp / median(plain.tcpGbits));
  row(`UDP of 64 bytes ${name}`, `${udp.toFixed(0)} kpps`, '0.70 ×', udp / median(plain.udpKpps));
}
row('plain bridge, TCP', `${median(plain.tcpGbits).toFixed(2)} Gbit/s`);
row('plain bridge, UDP of 64 bytes', `${median(plain.udpKpps).toFixed(0)} kpps`);
for (const [what, samples] of [
  ['sends', throughput.limitedSendMbits],
  ['receives', throughput.limitedReceiveMbits],
] as const) {
  row(`limited to ${limitMbits} Mbit/s, ${what}`, `${median(samples).toFixed(1)} Mbit/s`, 'within 5 %');
}

timeRow(
  'AuthorizeSecurityGroup answered to first packet',
  await measurePropagation({ tag, rounds: rounds * 10 }),
  'p95 100 ms',
);

for (const groups of [instances, 50]) {
  rulesetRows(groups, await measureRulesets({ tag, instances, groups, rounds, changesPerRound }));
}
const few = await measureRulesets({ tag, instances: 4, groups: 2, rounds: 1, changesPerRound: rounds * 3 });
timeRow('VPC of a few ports: one port more', few.addPort, '20 ms');

printTable(rows);
