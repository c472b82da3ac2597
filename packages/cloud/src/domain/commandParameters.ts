/** Values that a command can name as `{{ACS::Name}}` without being given them. */
export interface BuiltInParameters {
  readonly RegionId: string;
  readonly AccountId: string;
  readonly InstanceId: string;
  readonly InstanceName: string;
  readonly InvokeId: string;
  readonly CommandId: string;
}

const builtInNames: readonly (keyof BuiltInParameters)[] = [
  'RegionId',
  'AccountId',
  'InstanceId',
  'InstanceName',
  'InvokeId',
  'CommandId',
];

/** Whether `{{ACS::name}}` stands for something. */
export function isBuiltIn(name: string): boolean {
  return builtInNames.some((known) => known === name);
}

const placeholder = /\{\{([^{}]*)\}\}/g;
const builtInPrefix = /^acs\s*::\s*/i;

/** The part after `ACS::` of a name, or `undefined` when it is one of the user's own. */
export function readBuiltInName(name: string): string | undefined {
  return builtInPrefix.test(name) ? name.replace(builtInPrefix, '') : undefined;
}

/**
 * Names in double braces, in the order of their first use, without the white space around them. Own names
 * are the same whatever their capitals (RunCommand, parameter CommandContent).
 */
export function findParameterNames(content: string): string[] {
  const names = new Map<string, string>();
  for (const [, text = ''] of content.matchAll(placeholder)) {
    const name = text.trim();
    if (!names.has(name.toLowerCase())) names.set(name.toLowerCase(), name);
  }
  return [...names.values()];
}

/** The names that are the user's own. */
export function findOwnParameterNames(content: string): string[] {
  return findParameterNames(content).filter((name) => readBuiltInName(name) === undefined);
}

/** Fills in all names in double braces. Own parameters that are not given become empty. */
export function fillParameters(
  content: string,
  values: Readonly<Record<string, string>>,
  builtIn: Partial<BuiltInParameters>,
): string {
  const own = new Map(Object.entries(values).map(([name, value]) => [name.toLowerCase(), value]));
  const known = new Map(Object.entries(builtIn));
  return content.replace(placeholder, (_whole, text: string) => {
    const name = text.trim();
    const builtInName = readBuiltInName(name);
    return (builtInName === undefined ? own.get(name.toLowerCase()) : known.get(builtInName)) ?? '';
  });
}
