import type { PlacementExplanation } from '@openegs/cloud/operator';
import { type Command, InvalidArgumentError } from 'commander';
import { OperatorClient } from '../api/operatorClient.js';
import { createContext } from '../context.js';

interface ExplainOptions {
  readonly zone?: string;
  readonly disk?: number;
}

export function addPlace(program: Command): void {
  const place = program
    .command('place')
    .summary('where instances go')
    .description('Where instances go, and why. For the operator.');
  place
    .command('explain')
    .argument('<type>', 'instance type, such as ecs.gn6i-c4g1.xlarge')
    .description(
      'Say for each host and card whether an instance of the type fits, and why not. Takes nothing.',
    )
    .option('--zone <zone>', 'default: any')
    .option('--disk <GiB>', 'size of its system disk (default: 40)', parseGiB)
    .action(async (instanceType: string, { zone, disk }: ExplainOptions, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      const wish = { instanceType, zone, diskGiB: disk };
      const explanation = await new OperatorClient(dataDirectory).explainPlacement(wish);
      output.result(explanation, formatExplanation(explanation));
    });
}

function parseGiB(text: string): number {
  const size = Number(text);
  if (!Number.isInteger(size) || size <= 0) throw new InvalidArgumentError('a whole number of GiB');
  return size;
}

function formatExplanation({ hostId, cards = [], refusal, hosts }: PlacementExplanation): string {
  const on = cards.length === 0 ? '' : `, on ${cards.join(', ')}`;
  return [
    refusal ?? `It goes to ${hostId}${on}.`,
    ...hosts.flatMap((host) => [
      `${host.hostId}: ${host.text}`,
      ...host.cards.map((card) => `  ${card.cardId}: ${card.text}`),
    ]),
  ].join('\n');
}
