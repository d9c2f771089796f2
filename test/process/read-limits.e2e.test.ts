import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startServer } from '../support/server.ts';

test('Workers share the limit of public reads', async () => {
  await using server = await startServer({
    WORKERS: '2',
    RATE_LIMITS: 'on',
    PUBLIC_RATE_LIMIT: '60',
    LOG_LEVEL: 'info',
  });
  const listening = () => server.output().split('Server listening').length - 1;
  await expect.poll(listening).toBe(2);
  let allowed = 0;
  const startedAt = performance.now();
  // Each connection goes to a random worker.
  while (performance.now() - startedAt < 12_000) {
    const response = await fetch(`${server.url}/api/spaces/search?q=tea`, {
      headers: { connection: 'close' },
    });
    await response.text();
    expect([200, 429]).toContain(response.status);
    if (response.status === 200) allowed += 1;
    await sleep(20);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  // Bursts of ten in each worker, and one per second together. Separate limits would allow two per second.
  expect(allowed).toBeGreaterThanOrEqual(10);
  expect(allowed).toBeLessThanOrEqual(20 + 1.3 * seconds);
});
