import type { Command } from 'commander';
import { findAccess } from '../cloudAccess.js';
import { createContext } from '../context.js';

export function addEnv(program: Command): void {
  program
    .command('env')
    .summary('print variables for the SDKs and tools')
    .description('Prints shell assignments that the SDKs and tools read. Use: eval "$(egs env)"')
    .action(async (_options: object, command: Command) => {
      const context = createContext(command);
      const access = await findAccess(context);
      const host = new URL(access.endpoint).host;
      const variables = {
        ALIBABA_CLOUD_ACCESS_KEY_ID: access.accessKeyId,
        ALIBABA_CLOUD_ACCESS_KEY_SECRET: access.accessKeySecret,
        ALIBABA_CLOUD_REGION_ID: access.regionId,
        ALIBABA_CLOUD_ENDPOINT: access.endpoint,
        // Terraform and Packer read names of their own.
        ALICLOUD_ACCESS_KEY: access.accessKeyId,
        ALICLOUD_SECRET_KEY: access.accessKeySecret,
        ALICLOUD_REGION: access.regionId,
        ECS_ENDPOINT: host,
        VPC_ENDPOINT: host,
        RAM_ENDPOINT: host,
        STS_ENDPOINT: host,
      };
      const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`);
      context.output.result(variables, lines.join('\n'));
    });
}
