import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { schedulingPolicies } from './domain/gpu.js';
import { isIpv4Cidr } from './domain/network/cidr.js';

/*
 * The configuration file, as an operator writes it (YAML) and as the cloud reads it. Everything has a
 * default, so an empty file is a working cloud. `docs/configuration.md` is the manual of it.
 */

const name = z.string().regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, 'lower-case letters, digits and hyphens');

const region = z.strictObject({
  id: name,
  /** First three characters of the ids made in the region. */
  code: z
    .string()
    .regex(/^[a-z0-9]{2,3}$/)
    .default('bp1'),
  zones: z.array(name).min(1),
});

/** How many of the given kind an account may have in a region. */
const quotas = z.strictObject({
  instances: z.int().positive().default(1_000_000),
  vcpus: z.int().positive().default(10_000_000),
  keyPairs: z.int().positive().default(500),
  securityGroups: z.int().positive().default(500),
  /** Secondary ones. */
  networkInterfaces: z.int().positive().default(50_000),
  dataDisks: z.int().positive().default(100_000),
  images: z.int().positive().default(1000),
  snapshotsPerDisk: z.int().positive().default(256),
  vpcs: z.int().positive().default(1000),
  vSwitchesPerVpc: z.int().positive().default(150),
  secondaryCidrsPerVpc: z.int().positive().default(5),
  routeTablesPerVpc: z.int().positive().default(9),
  routeEntriesPerTable: z.int().positive().default(200),
  eips: z.int().positive().default(1000),
  natGatewaysPerVpc: z.int().positive().default(5),
  snatEntriesPerNatGateway: z.int().positive().default(40),
  forwardEntriesPerNatGateway: z.int().positive().default(100),
  prefixLists: z.int().positive().default(100),
  commands: z.int().positive().default(500),
});

/**
 * What is promised to instances per unit that the host has. The defaults let the common types (up to 32
 * vCPUs and 64 GiB) start on a laptop; on a host that serves others, set them to 1.
 */
export const overcommitShape = z.strictObject({
  cpu: z.number().positive().default(16),
  memory: z.number().positive().default(4),
  disk: z.number().positive().default(10),
});

const lxdEngine = z.strictObject({
  driver: z.literal('lxd'),
  /** Unix socket of LXD or Incus; absent: the one that `egs up` found or made. */
  socket: z.string().optional(),
  /** Or a remote endpoint, `https://host:8443`, with the key pair that it trusts. */
  url: z.url({ protocol: /^https$/ }).optional(),
  certificateFile: z.string().optional(),
  keyFile: z.string().optional(),
  serverCertificateFile: z.string().optional(),
  pool: z.string().default('default'),
  project: z.string().default('openegs'),
});

const fakeEngine = z.strictObject({
  driver: z.literal('fake'),
  vcpus: z.int().positive().default(64),
  memoryGiB: z.int().positive().default(256),
  diskGiB: z.int().positive().default(4096),
});

/** How to reach a host's engine. The store keeps hosts in this form too. */
export const engineShape = z.discriminatedUnion('driver', [lxdEngine, fakeEngine]);

/** Cards that are declared, not found. The store keeps them in this form too. */
export const declaredCardsShape = z.strictObject({
  /** Model of instance types (`NVIDIA T4`), or any other that `gpuModels` maps to one. */
  model: z.string().min(1),
  memoryMiB: z.int().positive(),
  count: z.int().positive().default(1),
  /** `fake`: capacity only. `software`: OpenCL and Vulkan on the processors of the host. */
  kind: z.enum(['fake', 'software']).default('fake'),
});

const host = z.strictObject({
  id: name,
  zone: name.optional(),
  /** Makes this many hosts, named `<id>-1` and so on, spread over the zones. Fake engines only. */
  count: z.int().positive().default(1),
  engine: engineShape,
  overcommit: overcommitShape.prefault({}),
  /** Absent: the cards that are found. */
  gpus: z.array(declaredCardsShape).default([]),
  /** How slices of NVIDIA cards are kept apart; `hami` needs HAMi-core on the host. */
  gpuSharing: z.enum(['none', 'hami']).default('none'),
  /** Who computes when on software cards. */
  gpuPolicy: z.enum(schedulingPolicies).default('weighted'),
  /** Whether NVIDIA's container tools are on the host, to bring the driver's libraries into instances. */
  nvidiaRuntime: z.boolean().default(true),
});

const eipPool = z.strictObject({
  cidr: z.string().refine(isIpv4Cidr, 'not an IPv4 range such as 198.51.100.0/28'),
  /**
   * The world does not route the range to this machine: its addresses work between this machine and its
   * instances only, and what leaves the machine goes under the machine's own address.
   */
  local: z.boolean().default(false),
});

const configShape = z.strictObject({
  regions: z
    .array(region)
    .min(1)
    .default([{ id: 'cn-hangzhou', code: 'bp1', zones: ['cn-hangzhou-a', 'cn-hangzhou-b'] }]),
  hosts: z.array(host).default([]),
  /** Which model of instance types a product serves as: `NVIDIA A10G: NVIDIA A10`. */
  gpuModels: z.record(z.string(), z.string()).default({}),
  quotas: quotas.prefault({}),
  throttle: z
    .strictObject({
      /** Calls of one action a minute and account. */
      perAction: z.int().positive().optional(),
      actions: z.record(z.string(), z.int().positive()).optional(),
    })
    .default({}),
  network: z
    .strictObject({
      /** CIDR of the default VPC of every account and region. */
      defaultVpcCidr: z.string().default('172.16.0.0/12'),
      /** Range for the links between VPC routers and the host. */
      transitCidr: z.string().default('100.64.0.0/12'),
      /** Range from which the metadata service tells instances apart. */
      fabricCidr: z.string().default('100.96.0.0/11'),
      /** Where public addresses are taken from. */
      eipPools: z.array(eipPool).default([{ cidr: '203.0.113.0/24', local: true }]),
      /**
       * Whether instances of default VPCs reach the world through the host's own address, without EIP and
       * NAT gateway, so that a first instance can install packages. Other VPCs never do.
       */
      defaultOutbound: z.boolean().default(true),
      /** Port of the metadata service on the host. Two clouds on one machine need different ones. */
      metadataPort: z.int().min(1).max(65_535).default(8775),
    })
    .prefault({}),
});

export type CloudConfig = z.infer<typeof configShape>;
export type HostConfig = CloudConfig['hosts'][number];
export type EngineConfig = HostConfig['engine'];
export type RegionConfig = CloudConfig['regions'][number];

/** The configuration file is not usable; the message has one line per mistake, each naming its place. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Checks a configuration value and fills in the defaults. */
export function parseConfig(value: unknown): CloudConfig {
  const result = configShape.safeParse(value ?? {});
  if (!result.success) {
    throw new ConfigError(
      result.error.issues.map((issue) => `${issue.path.join('.') || 'file'}: ${issue.message}`).join('\n'),
    );
  }
  const config = result.data;
  const zones = new Set(config.regions.flatMap((each) => each.zones));
  const mistakes = config.hosts.flatMap((each, index) => [
    ...(each.zone !== undefined && !zones.has(each.zone)
      ? [`hosts.${index}.zone: no region has this zone`]
      : []),
    ...(config.hosts.findIndex((other) => other.id === each.id) < index
      ? [`hosts.${index}.id: another host has this name`]
      : []),
    ...(each.engine.driver !== 'fake' && each.gpus.some((card) => card.kind === 'fake')
      ? [`hosts.${index}.gpus: only fake hosts have fake cards`]
      : []),
    ...(each.count > 1 && each.engine.driver !== 'fake'
      ? [`hosts.${index}.count: only fake hosts can be counted`]
      : []),
  ]);
  if (mistakes.length > 0) throw new ConfigError(mistakes.join('\n'));
  return config;
}

/** Reads and checks a configuration file. */
export function readConfig(file: string): CloudConfig {
  return parseConfig(parse(readFileSync(file, 'utf8')));
}
