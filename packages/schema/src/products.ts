import type { ProductName } from './action.js';

/** The API version under which each product's actions are described. */
export const productVersions: Readonly<Record<ProductName, string>> = {
  ecs: '2014-05-26',
  vpc: '2016-04-28',
  ram: '2015-05-01',
  sts: '2015-04-01',
  ess: '2022-02-22',
  location: '2015-06-12',
  bssopenapi: '2017-12-14',
};

/** All products, the ones with most actions first. */
export const productNames: readonly ProductName[] = [
  'ecs',
  'vpc',
  'ram',
  'sts',
  'ess',
  'location',
  'bssopenapi',
];
