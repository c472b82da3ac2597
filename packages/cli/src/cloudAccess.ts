import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiAccess } from './api/apiClient.js';
import { ApiClient } from './api/apiClient.js';
import { OperatorClient } from './api/operatorClient.js';
import type { Context } from './context.js';
import { CommandError } from './errors.js';

export function credentialsFileOf(dataDirectory: string): string {
  return join(dataDirectory, 'credentials.json');
}

/**
 * Where the API is and with which key: from the environment (`egs env` prints these variables, so that
 * another machine's cloud can be used), else from the data directory of a cloud that runs here.
 */
export async function findAccess(context: Context): Promise<ApiAccess> {
  const {
    ALIBABA_CLOUD_ENDPOINT: endpoint,
    ALIBABA_CLOUD_ACCESS_KEY_ID: accessKeyId,
    ALIBABA_CLOUD_ACCESS_KEY_SECRET: accessKeySecret,
    ALIBABA_CLOUD_REGION_ID: regionId = 'cn-hangzhou',
  } = process.env;
  if (!context.isDataDirectoryNamed && endpoint && accessKeyId && accessKeySecret) {
    return {
      endpoint: endpoint.includes('://') ? endpoint : `http://${endpoint}`,
      accessKeyId,
      accessKeySecret,
      regionId,
    };
  }
  const status = await new OperatorClient(context.dataDirectory).getStatus();
  const credentials = readCredentials(context.dataDirectory);
  return { endpoint: status.endpoint, regionId: status.region, ...credentials };
}

export async function openApi(context: Context): Promise<ApiClient> {
  return new ApiClient(await findAccess(context));
}

function readCredentials(dataDirectory: string): { accessKeyId: string; accessKeySecret: string } {
  const file = credentialsFileOf(dataDirectory);
  try {
    const { accessKeyId, accessKeySecret } = JSON.parse(readFileSync(file, 'utf8')) as {
      accessKeyId: string;
      accessKeySecret: string;
    };
    return { accessKeyId, accessKeySecret };
  } catch (error) {
    throw new CommandError(`cannot read the key: ${error instanceof Error ? error.message : error}`);
  }
}
