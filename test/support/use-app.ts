import { afterAll, beforeAll } from 'vitest';
import { startApp, type TestApp } from './app.ts';

/**
 * Starts an application before the tests of a file or `describe` block, and stops it after them. The result can be used
 * only in hooks and tests.
 */
export function useApp(...args: Parameters<typeof startApp>): TestApp {
  const app = {} as TestApp;
  beforeAll(async () => {
    Object.assign(app, await startApp(...args));
  });
  afterAll(() => app[Symbol.asyncDispose]?.());
  return app;
}
