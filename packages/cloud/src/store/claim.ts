import type { InstanceType } from '../catalog/instanceTypes.js';
import type { CloudParts } from '../cloud.js';
import type { ClusterModel, HostConstraint, PlacementRequest } from '../placement/index.js';

/** What an instance takes from its host. */
export interface Claim {
  readonly request: PlacementRequest;
  /** It takes all processors and memory, whatever the type says: a bare-metal type has its host for itself. */
  readonly isWholeHost: boolean;
}

/** The parts of a type that its host has to serve. */
type Needs = Pick<InstanceType, 'vcpus' | 'memoryMiB' | 'gpu'> & Partial<Pick<InstanceType, 'kind'>>;

/** What an instance of a type, with a system disk of this size, takes from its host. */
export function claimOf({ catalog, placement }: CloudParts, type: Needs, diskGiB: number): Claim {
  const amounts = { cpuMilli: type.vcpus * 1000, memoryMiB: type.memoryMiB, diskGiB };
  if (type.gpu === undefined) return { request: amounts, isWholeHost: false };
  const gpu = catalog.gpuModels.requestOf(type.gpu);
  if (type.kind !== 'gpu-baremetal') return { request: { ...amounts, gpu }, isWholeHost: false };
  const constraints = [emptyHost(placement, gpu.count)];
  return { request: { ...amounts, gpu, constraints }, isWholeHost: true };
}

/** A bare-metal type is a whole host: with as many cards as the type has, and nobody else on it. */
function emptyHost(placement: ClusterModel, cards: number): HostConstraint {
  return {
    objection(hostId) {
      const usage = placement.getHost(hostId);
      if (usage.cards.length !== cards) return `the host has ${usage.cards.length} GPUs, the type ${cards}`;
      return usage.owners > 0 ? 'other instances are on the host' : undefined;
    },
  };
}
