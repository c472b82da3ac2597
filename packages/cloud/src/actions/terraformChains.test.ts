import { afterAll, describe, expect, it } from 'vitest';
import { planAddresses } from '../testing/terraform/addresses.js';
import { planInstances } from '../testing/terraform/instances.js';
import { planNetworks } from '../testing/terraform/networks.js';
import { TerraformProvider } from '../testing/terraform/provider.js';
import { startTestCloud } from '../testing/testCloud.js';

/*
 * What Terraform's provider sends for each resource: create, read, update, delete, in the order of a plan. The
 * reads ask for the fields that the provider keeps in its state: a field that comes back otherwise than it
 * was written would be a change in every plan.
 */

const cloud = await startTestCloud();
afterAll(() => cloud.stop());
const provider = new TerraformProvider(cloud);
const plan = [...planNetworks(provider), ...planInstances(provider), ...planAddresses(provider)];

describe('a plan of Terraform', () => {
  it.each(plan)('creates $address', async (resource) => {
    await resource.create();
    await provider.settle();
    expect(await resource.read()).toMatchObject(resource.written);
  });

  it.each(plan.filter((each) => each.update))('changes $address in place', async (resource) => {
    await resource.update?.();
    await provider.settle();
    expect(await resource.read()).toMatchObject(resource.updated ?? {});
  });

  it.each(plan.toReversed())('destroys $address', async (resource) => {
    await resource.delete();
    await provider.settle();
    expect(await resource.read()).toBeUndefined();
  });
});
