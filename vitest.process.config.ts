import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.js';

/** Tests in child processes: the command line, and clouds that are killed. They run what is compiled. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({
    test: {
      include: ['packages/*/src/**/*.process.test.ts', 'test/**/*.process.test.ts'],
      exclude: ['**/node_modules/**', '**/dist/**'],
      isolate: true,
      testTimeout: 60_000,
      hookTimeout: 60_000,
    },
  }),
);
