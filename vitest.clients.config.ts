import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.js';

/** Real clients of the API in other languages, fetched from their registries, against a cloud on the fake engine. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({
    test: {
      include: ['test/clients/**/*.client.test.ts'],
      fileParallelism: false,
      testTimeout: 60_000,
      hookTimeout: 300_000,
    },
  }),
);
