import type { GpuDescription } from '@openegs/cloud/operator';
import type { Command } from 'commander';
import { OperatorClient } from '../api/operatorClient.js';
import { createContext } from '../context.js';
import { CommandError } from '../errors.js';
import { formatFacts, formatTable } from '../output.js';

export function addGpu(program: Command): void {
  const gpu = program
    .command('gpu')
    .summary('the GPUs of the hosts')
    .description('The GPUs of the hosts: what they are, how they are, who holds them. For the operator.');
  gpu
    .command('ls')
    .description('List the cards with what is free on them.')
    .option('--refresh', 'read the cards of all hosts anew')
    .action(async ({ refresh }: { refresh?: boolean }, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      const operator = new OperatorClient(dataDirectory);
      const cards = refresh === true ? await operator.refreshGpus() : await operator.listGpus();
      output.result(cards, formatCards(cards));
    });
  gpu
    .command('show')
    .argument(
      '<card>',
      'as "gpu ls" names it; with the host before it, rack-1/GPU-1, where several have the name',
    )
    .description('Show one card with the instances on it.')
    .action(async (name: string, _options: object, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      const cards = await new OperatorClient(dataDirectory).listGpus();
      const [card, ...others] = cards.filter((each) => [each.id, `${each.hostId}/${each.id}`].includes(name));
      if (!card) throw new CommandError(`there is no card "${name}"`, { code: 'GpuNotFound' });
      if (others.length > 0) {
        throw new CommandError(`several hosts have a card "${name}": write <host>/${name}`, {
          code: 'GpuAmbiguous',
        });
      }
      output.result(card, formatCard(card));
    });
}

function formatCards(cards: readonly GpuDescription[]): string {
  return formatTable(
    ['HOST', 'CARD', 'MODEL', 'KIND', 'STATE', 'FREE MEMORY', 'FREE COMPUTE', 'INSTANCES'],
    cards.map((card) => [
      ...[card.hostId, card.id, card.model, card.kind, card.faults.length === 0 ? 'ok' : 'failed'],
      ...[`${card.freeMemoryMiB} MiB`, `${card.freeComputePercent} %`, String(card.holders.length)],
    ]),
  );
}

function formatCard(card: GpuDescription): string {
  const facts = formatFacts([
    ['card', card.id],
    ['host', card.hostId],
    ['product', card.product],
    ['serves as', card.model],
    ['kind', card.kind],
    ['state', card.faults.length === 0 ? 'ok' : card.faults.join('; ')],
    ['PCI address', card.pciAddress ?? ''],
    ['NUMA node', card.numaNode === undefined ? '' : String(card.numaNode)],
    [
      'memory',
      `${card.freeMemoryMiB} free of ${card.memoryMiB} MiB (${card.reportedMemoryMiB} by its driver)`,
    ],
    ['compute', `${card.freeComputePercent} % free`],
    ['slices', `${card.sharing.mode}: memory ${card.sharing.memory}, compute ${card.sharing.compute}`],
    ['', card.sharing.summary],
  ]);
  const holders = card.holders.map(({ instanceId, memoryMiB, computePercent, exclusive }) => [
    instanceId,
    `${memoryMiB} MiB`,
    exclusive ? 'whole card' : `${computePercent} %`,
  ]);
  return holders.length === 0
    ? facts
    : `${facts}\n\n${formatTable(['INSTANCE', 'MEMORY', 'SHARE'], holders)}`;
}
