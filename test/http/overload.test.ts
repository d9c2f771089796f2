import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startApp } from '../support/app.ts';

test('Sheds load if the event loop is repeatedly delayed, and /healthz still returns 200', async () => {
  await using loaded = await startApp({}, { limits: { maxEventLoopDelayMs: 500 } });
  // Blocks the event loop before each request.
  let isBlocking = false;
  loaded.app.server.prependListener('request', () => {
    const startedAt = performance.now();
    while (isBlocking && performance.now() - startedAt < 600);
  });
  const search = async () => {
    const headers = { origin: 'https://a.example' };
    const response = await loaded.fetch('/api/spaces/search?q=tea', { headers });
    await sleep(100);
    return response;
  };
  isBlocking = true;
  expect((await search()).status, 'during the start').toBe(200);
  expect((await search()).status, 'during the start').toBe(200);
  isBlocking = false;
  // The service does not shed load during the first two seconds after its start.
  await sleep(2_000);

  isBlocking = true;
  expect((await search()).status, 'after a single delay').toBe(200);
  let response = await search();
  for (let i = 0; i < 10 && response.status === 200; i += 1) response = await search();
  expect(await response.json()).toMatchObject({ status: 503, code: 'unavailable' });
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect((await loaded.fetch('/readyz')).status).toBe(503);
  expect((await loaded.fetch('/healthz')).status).toBe(200);
  isBlocking = false;
  expect((await search()).status, 'after the overload').toBe(200);
});
