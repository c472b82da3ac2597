import { randomUUID } from 'node:crypto';
import type { TestCloud } from '../testCloud.js';

export const ZoneId = 'cn-hangzhou-a';
export type Json = Record<string, unknown>;
type Parameters = Record<string, string | number | boolean>;

/** A resource of a plan. What `create` and `update` write, `read` gives back; nothing when it is gone. */
export interface PlannedResource {
  readonly address: string;
  create(): Promise<void>;
  read(): Promise<unknown>;
  readonly written: Json;
  update?(): Promise<void>;
  readonly updated?: Json;
  delete(): Promise<unknown>;
}

/** Calls as Terraform's provider makes them: by POST, with V1 signatures. Any answer but 200 is thrown. */
export class TerraformProvider {
  /** What the resources of the plan know of each other. */
  readonly ids = {
    vpc: '',
    routeTable: '',
    vSwitch: '',
    group: '',
    otherGroup: '',
    instance: '',
    eip: '',
    natEip: '',
    natAddress: '',
    natGateway: '',
    snatTable: '',
    snatEntry: '',
  };

  constructor(private readonly cloud: TestCloud) {}

  ecs<Answer extends Json>(action: string, parameters: Parameters): Promise<Answer> {
    return this.call('2014-05-26', action, parameters);
  }

  vpc<Answer extends Json>(action: string, parameters: Parameters): Promise<Answer> {
    return this.call('2016-04-28', action, parameters);
  }

  /** The tag of a resource, where the provider does not write it along with the resource. */
  tagOf(product: 'ecs' | 'vpc', ResourceType: string, id: string) {
    const of = { ResourceType, 'ResourceId.1': id };
    return {
      add: (value: string) =>
        this[product]('TagResources', { ...of, 'Tag.1.Key': 'plan', 'Tag.1.Value': value }),
      remove: () =>
        this[product](product === 'vpc' ? 'UnTagResources' : 'UntagResources', { ...of, 'TagKey.1': 'plan' }),
      read: async () => {
        const { TagResources } = await this[product]<{ TagResources: { TagResource: Json[] } }>(
          'ListTagResources',
          of,
        );
        return TagResources.TagResource.map(({ TagKey, TagValue }) => [TagKey, TagValue]);
      },
    };
  }

  /** Waits until the loops have nothing left to do; the provider would ask again and again. */
  settle(): Promise<void> {
    return this.cloud.cloud.reconciler.idle();
  }

  private call<Answer>(version: string, action: string, parameters: Parameters): Promise<Answer> {
    const options = { method: 'POST', formatParams: false };
    const query = { RegionId: this.cloud.regionId, ...parameters };
    return this.cloud.rpc(version).request<Answer>(action, query, options);
  }
}

export const clientToken = (): string => `TF-CreateResource-${randomUUID()}`;

/** The provider names and describes a resource at its creation. */
export const labels = (Name: string) => ({ Name, Description: `${Name} of a plan` });
