import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { operations } from '../../server/contract.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/processes.ts';
import { exampleRequest } from '../support/requests.ts';

let prism: RunningProcess;
let url: string;
beforeAll(async () => {
  const port = await freePort();
  const command = ['node_modules/.bin/prism', 'mock', 'openapi.yaml', '--port', String(port)];
  prism = startProcess(process.execPath, command);
  url = `http://127.0.0.1:${port}`;
  await vi.waitFor(() => expect(prism.output()).toContain('is listening'), { timeout: 40_000 });
});
afterAll(() => prism.kill());

test.each(operations.map((operation) => [operation.operationId, operation] as const))(
  'The command of Prism responds to %s with the example of success',
  async (_, operation) => {
    const { url: path, init } = exampleRequest(operation);
    const headers = { ...init.headers, authorization: 'Bearer any' };
    const response = await fetch(url + path, { ...init, headers });
    expect(response.ok, await response.text()).toBe(true);
  },
);
