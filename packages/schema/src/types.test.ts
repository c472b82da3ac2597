import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const probePath = fileURLToPath(new URL('./probe.ts', import.meta.url));

/** The compiler's complaints about a source text that stands beside this file. */
function complaintsAbout(source: string): string[] {
  const configPath = fileURLToPath(new URL('../tsconfig.json', import.meta.url));
  const config = ts.getParsedCommandLineOfConfigFile(
    configPath,
    { noEmit: true, composite: false },
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
        throw new Error(String(diagnostic.messageText));
      },
    },
  );
  const options = config?.options ?? {};
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (path, languageVersion) =>
    path === probePath
      ? ts.createSourceFile(path, source, languageVersion)
      : getSourceFile(path, languageVersion);
  host.fileExists = (path) => path === probePath || ts.sys.fileExists(path);
  const program = ts.createProgram([probePath], options, host);
  return program
    .getSemanticDiagnostics(program.getSourceFile(probePath))
    .map((diagnostic) => ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
}

it('lets a handler use the fields of the SDK and no others', () => {
  const source = `
    import { type ActionSchema, ecs, vpc } from './index.js';

    const instances: ecs.DescribeInstancesResponse = {
      totalCount: 1,
      instances: { instance: [{ instanceId: 'i-1', cpu: undefined, tags: { tag: [{ tagKey: 'a' }] } }] },
    };
    const request: ecs.RunInstancesRequest = { regionId: 'cn-hangzhou', dataDisk: [{ size: 20 }] };
    const ids: string[] | undefined = ({} as ecs.DescribeInstancesRequest).instanceIds;
    const subnet: ActionSchema<vpc.CreateVSwitchRequest, vpc.CreateVSwitchResponse> = vpc.CreateVSwitch;
    export const used = [instances, request, ids, subnet];

    // @ts-expect-error: a misspelt response field
    export const misspelt: ecs.DescribeInstancesResponse = { totalCounts: 1 };
    // @ts-expect-error: the wire layer adds the request id
    export const withId: ecs.StopInstanceResponse = { requestId: 'x' };
    // @ts-expect-error: a required parameter is missing
    export const incomplete: ecs.StopInstanceRequest = {};
    // @ts-expect-error: an action that does not exist
    export const unknownAction = ecs.RunInstance;
    // @ts-expect-error: the schema of another action
    export const other: ActionSchema<ecs.StopInstanceRequest, ecs.StopInstanceResponse> = ecs.DescribeZones;
  `;
  expect(complaintsAbout(source)).toEqual([]);
}, 30_000);
