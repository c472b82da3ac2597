import type { HostId } from '../domain/ids.js';
import { exceptHosts, type PlacementRequest } from './request.js';

/** The API's names. */
export type DeploymentStrategy = 'Availability' | 'AvailabilityGroup' | 'LowLatency';

/** An instance of a deployment set and where it runs. */
export interface DeploymentSetMember {
  readonly hostId: HostId;
  /** Of `AvailabilityGroup`: 1 to 7. */
  readonly groupNo?: number;
}

/**
 * What membership in a deployment set adds to a request. `Availability`: never a host of another
 * member. `AvailabilityGroup`: never a host of another group's member. `LowLatency`: hosts of the
 * other members first.
 */
export function deploymentSetRules(
  strategy: DeploymentStrategy,
  members: readonly DeploymentSetMember[],
  groupNo?: number,
): Pick<PlacementRequest, 'constraints' | 'preferredHosts'> {
  switch (strategy) {
    case 'Availability':
      return {
        constraints: [
          exceptHosts(
            members.map((member) => member.hostId),
            'another instance of the deployment set is on the host',
          ),
        ],
      };
    case 'AvailabilityGroup':
      return {
        constraints: [
          exceptHosts(
            members.filter((member) => member.groupNo !== groupNo).map((member) => member.hostId),
            'an instance of another group of the deployment set is on the host',
          ),
        ],
      };
    case 'LowLatency':
      return { preferredHosts: new Set(members.map((member) => member.hostId)) };
  }
}
