/**
 * The boundaries between the steps of requests and loops at which the process may die. A test kills a real child
 * process at each of them, and then looks for losses and leaks.
 */
export const faultPointNames = [
  'request.committed',
  'instance.networkApplied',
  'instance.createdOnHost',
  'instance.createdInStore',
  'instance.startedOnHost',
  'instance.startedInStore',
  'instance.stoppedOnHost',
  'instance.stoppedInStore',
  'instance.updatedOnHost',
  'instance.updatedInStore',
  'instance.deletedOnHost',
  'instance.deletedInStore',
  'vpc.appliedOnHost',
  'vpc.settledInStore',
  'vpc.removedOnHost',
  'vpc.removedInStore',
  'disk.createdOnHost',
  'disk.createdInStore',
  'disk.grownOnHost',
  'disk.renewedOnHost',
  'disk.renewedInStore',
  'disk.oldRemovedOnHost',
  'disk.deletedOnHost',
  'disk.deletedInStore',
  'snapshot.takenOnHost',
  'snapshot.takenInStore',
  'snapshot.deletedOnHost',
  'snapshot.deletedInStore',
  'image.createdOnHost',
  'image.createdInStore',
  'image.deletedOnHost',
  'image.deletedInStore',
  'invocation.started',
  'invocation.finishedOnHost',
  'invocation.finishedInStore',
] as const;

export type FaultPointName = (typeof faultPointNames)[number];

export interface FaultPoints {
  /** Called when the boundary is passed. */
  reach(name: FaultPointName): void;
}

export const noFaults: FaultPoints = { reach: () => undefined };

/** Dies like a process whose power is cut, the first time that the boundary is passed. */
export function killAt(name: FaultPointName): FaultPoints {
  return {
    reach(reached) {
      if (reached === name) process.kill(process.pid, 'SIGKILL');
    },
  };
}
