import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.js';

/** Tests on real engines and networks: as root, one file at a time. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({
    test: {
      include: ['packages/*/src/**/*.host.test.ts', 'test/**/*.host.test.ts'],
      exclude: ['**/node_modules/**', '**/dist/**'],
      isolate: true,
      fileParallelism: false,
    },
  }),
);
