import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', '**/*.{host,process,client}.test.ts'],
    // Imports of CommonJS packages behave as in Node, so that types and built code agree.
    deps: { interopDefault: false },
    // Nothing here is a module-level singleton, so that files may share what they import: a third of the time.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
