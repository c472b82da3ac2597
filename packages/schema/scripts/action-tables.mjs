/** Joins SDK models and facts into the tables that the cloud reads. */
import { noFacts, readFacts } from './facts.mjs';
import { SdkModels } from './sdk-models.mjs';

/**
 * @typedef {import('../src/action.js').ActionTable} ActionTable
 * @typedef {import('../src/action.js').Field} Field
 */

/**
 * All products. Those without `sdk` take their whole shape from the facts. RAM's and STS's SDKs do not say
 * which parameters are required, so their silence means nothing.
 */
export const products = [
  { name: 'ecs', sdk: '@alicloud/ecs20140526', sdkStatesRequired: true },
  { name: 'vpc', sdk: '@alicloud/vpc20160428', sdkStatesRequired: true },
  { name: 'ram', sdk: '@alicloud/ram20150501' },
  { name: 'sts', sdk: '@alicloud/sts20150401' },
  { name: 'ess' },
  { name: 'location' },
  { name: 'bssopenapi' },
];

/** Strings that hold a list although no example of the SDK or the description shows it. */
const furtherLists = {
  'ecs.RenewDedicatedHosts': { DedicatedHostIds: 'json' },
  'ecs.DescribeDedicatedHostAutoRenew': { DedicatedHostIds: 'comma' },
  'ecs.ModifyDedicatedHostAutoRenewAttribute': { DedicatedHostIds: 'comma' },
  'ecs.DescribeTasks': { TaskIds: 'comma' },
};

/** The number type by name, for SDK numbers that the published description does not know. */
function guessNumberType(path) {
  if (/(Price|Cost|Rate|Ratio|Percent|Discount|CreditUsage|CreditBalance|Utilization)$/.test(path))
    return 'float';
  return /(Id|Uid|Timestamp|Bytes)$/.test(path) ? 'long' : 'integer';
}

/**
 * Every action's table, by name, sorted.
 *
 * @returns {Map<string, ActionTable>}
 */
export function actionTablesOf(product) {
  const facts = readFacts(product.name);
  if (product.sdk === undefined) {
    return new Map([...facts].map(([action, own]) => [action, tableFromFacts(own)]));
  }
  const sdk = new SdkModels(product.sdk);
  return new Map(
    sdk.actions().map((action) => [action, tableFromSdk(sdk, action, facts.get(action), product)]),
  );
}

function tableFromFacts(facts) {
  return {
    methods: facts.methods,
    request: facts.request.map((field) => applyRules(field, '', facts.parameters)),
    response: facts.response,
    errors: statusByCode(facts.errors),
  };
}

function tableFromSdk(sdk, action, described, product) {
  const facts = described ?? noFacts;
  const notes = sdk.notes(action);
  if (!product.sdkStatesRequired) notes.optional.clear();
  const rules = rulesFor(notes, facts, described !== undefined);
  for (const [path, style] of Object.entries(furtherLists[`${product.name}.${action}`] ?? {})) {
    rules[path] = { ...rules[path], style };
  }
  return {
    methods: facts.methods,
    ...(sdk.isAnonymous(action) ? { anonymous: true } : {}),
    request: sdk.request(action).map((field) => applyRules(field, '', rules)),
    response: sdk.response(action).map((field) => applyFormats(field, '', facts.responseFormats ?? {})),
    errors: statusByCode(facts.errors),
  };
}

/**
 * The published description's rules, brought up to date by the newer SDK's notes: what the SDK documents as
 * optional is not required, a JSON list of either is one, and where the description does not know the action
 * the SDK alone says what is required.
 */
function rulesFor(notes, facts, isDescribed) {
  const rules = {};
  for (const [path, rule] of Object.entries(facts.parameters)) {
    const { required, ...others } = rule;
    rules[path] = required && !notes.optional.has(path) ? rule : others;
  }
  for (const path of notes.jsonLists) rules[path] = { ...rules[path], style: 'json' };
  if (!isDescribed) for (const path of notes.required) rules[path] = { ...rules[path], required: true };
  return rules;
}

function applyRules(field, prefix, rules) {
  const { key, wire, ...shape } = field;
  const path = `${prefix}${wire}`;
  const rule = rules[path] ?? {};
  const { required, minimum, maximum, maxItems, enum: values } = rule;
  return {
    key,
    wire,
    ...(required ? { required } : {}),
    ...(minimum !== undefined && isNumber(shape) ? { minimum } : {}),
    ...(maximum !== undefined && isNumber(shape) ? { maximum } : {}),
    ...(maxItems !== undefined && shape.type === 'array' ? { maxItems } : {}),
    ...(values !== undefined && shape.type === 'string' ? { enum: values } : {}),
    ...applyRulesToShape(shape, path, rules),
  };
}

const isNumber = (shape) => shape.type === 'integer';

function applyRulesToShape(shape, path, rules) {
  const rule = rules[path] ?? {};
  switch (shape.type) {
    case 'string':
      return rule.style === undefined
        ? shape
        : { type: 'array', item: { type: 'string' }, style: rule.style };
    case 'integer':
      return { type: rule.format ?? guessNumberType(path) };
    case 'array':
      return { ...shape, item: applyRulesToShape(shape.item, `${path}[]`, rules) };
    case 'object':
      return { ...shape, fields: shape.fields.map((field) => applyRules(field, `${path}.`, rules)) };
    default:
      return shape;
  }
}

function applyFormats(field, prefix, formats) {
  const { key, wire, ...shape } = field;
  return { key, wire, ...applyFormatsToShape(shape, `${prefix}${wire}`, formats) };
}

function applyFormatsToShape(shape, path, formats) {
  switch (shape.type) {
    case 'integer':
      return { type: formats[path] ?? guessNumberType(path) };
    case 'array':
      return { ...shape, item: applyFormatsToShape(shape.item, `${path}[]`, formats) };
    case 'object':
      return { ...shape, fields: shape.fields.map((field) => applyFormats(field, `${path}.`, formats)) };
    default:
      return shape;
  }
}

/** A code documented under several statuses takes 404 when it says so, else the lowest. */
function statusByCode(errors) {
  const statuses = {};
  for (const status of Object.keys(errors).map(Number).sort()) {
    for (const code of errors[status]) {
      if (statuses[code] === undefined || (status === 404 && code.includes('NotFound')))
        statuses[code] = status;
    }
  }
  return Object.fromEntries(Object.entries(statuses).sort(([left], [right]) => (left < right ? -1 : 1)));
}
