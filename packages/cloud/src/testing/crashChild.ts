import { readFileSync } from 'node:fs';
import { startConfiguredCloud } from '../compose.js';
import { parseConfig } from '../config.js';
import { type FaultPointName, killAt, noFaults } from '../domain/faults.js';

/*
 * A cloud in a process of its own, which dies at a boundary that the test names.
 * Arguments: a JSON file with `dataDirectory`, `config`, `engine` and `images`; the boundary, if any.
 */

const [file = '', fault] = process.argv.slice(2);
const options: {
  dataDirectory: string;
  config: unknown;
  engine: 'lxd' | 'fake';
  images: { name: string; metadata: string; rootfs: string }[];
} = JSON.parse(readFileSync(file, 'utf8'));

const running = await startConfiguredCloud({
  dataDirectory: options.dataDirectory,
  config: parseConfig(options.config),
  engine: options.engine,
  images: new Map(options.images.map((image) => [image.name, image])),
  listen: { host: '127.0.0.1', port: 0 },
  faults: fault === undefined ? noFaults : killAt(fault as FaultPointName),
});
const { endpoint, credentials } = running.cloud;
console.log(JSON.stringify({ event: 'ready', endpoint, credentials }));
process.on('SIGTERM', () => void running.stop().then(() => process.exit(0)));
