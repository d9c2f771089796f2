import { expect, test } from 'vitest';
import { INSTANCE, parseMetrics } from '../support/metrics.ts';
import { startServer } from '../support/server.ts';

const headers = { authorization: 'Bearer sesame', connection: 'close' };

test('Each worker serves the metrics of all workers, including those that have exited', async () => {
  const startedAt = Math.floor(Date.now() / 1_000);
  await using server = await startServer({
    WORKERS: '2',
    METRICS_TOKEN: 'sesame',
    LOG_LEVEL: 'info',
  });
  const log = () =>
    server
      .output()
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as { pid: number; msg: string; url?: string });
  const pidsOf = (isMatch: (line: { msg: string; url?: string }) => boolean) =>
    new Set(log().flatMap((line) => (isMatch(line) ? line.pid : [])));
  const listening = () => pidsOf(({ msg }) => msg.startsWith('Server listening'));
  const serving = (path: string) => pidsOf(({ url }) => url?.startsWith(path) === true);

  const search = async (times: number) => {
    for (let i = 0; i < times; i += 1) {
      const response = await fetch(`${server.url}/api/spaces/search?q=tea`, { headers });
      expect(response.status).toBe(200);
      await response.text();
    }
  };
  const scrape = async () => {
    const signal = AbortSignal.timeout(10_000);
    const response = await fetch(`${server.url}/metrics`, { headers, signal });
    expect(response.status).toBe(200);
    const text = await response.text();
    for (const line of text.split('\n').filter((each) => /^\w/.test(each))) {
      expect(line).toContain(`instance="${INSTANCE}"`);
    }
    return parseMetrics(text);
  };
  const searches =
    'space_service_http_request_duration_seconds_count{operation="searchSpaces",status="200"}';

  await expect.poll(() => listening().size).toBe(2);
  await search(20);
  const processStart = (await scrape())('process_start_time_seconds');
  expect(processStart).toBeGreaterThanOrEqual(startedAt);
  expect(processStart).toBeLessThanOrEqual(Date.now() / 1_000 + 1);
  // The kernel assigns each connection to a random worker. Continues until both workers have served a scrape.
  for (let i = 0; i < 6 || (serving('/metrics').size < 2 && i < 60); i += 1) {
    const figure = await scrape();
    expect(figure(searches)).toBe(20);
    expect(figure('space_service_search_duration_seconds_count{kind="text"}')).toBe(20);
    expect(figure('space_service_queue_length{queue="writers"}')).toBe(0);
    expect(figure('space_service_search_index_pending_spaces')).toBe(0);
    expect(figure('process_start_time_seconds')).toBe(processStart);
    expect(figure('space_service_resource_unavailable{resource="avatar storage"}')).toBe(0);
  }
  expect(serving('/api/spaces/search').size).toBe(2);
  expect(serving('/metrics').size).toBe(2);
  const busy = (await scrape())('space_service_database_busy_seconds_total');
  expect(busy).toBeGreaterThan(0);

  const [victim, other] = [...listening()] as [number, number];
  process.kill(victim, 'SIGKILL');
  await expect.poll(() => listening().size).toBe(3);
  await search(10);
  const figure = await scrape();
  expect(figure(searches)).toBe(30);
  expect(figure('process_start_time_seconds')).toBe(processStart);
  expect(figure('space_service_database_busy_seconds_total')).toBeGreaterThan(busy);

  // A worker that hangs does not block scrapes. They contain its last metrics.
  process.kill(other, 'SIGSTOP');
  try {
    const some = await Promise.any(Array.from({ length: 16 }, scrape));
    expect(some(searches)).toBe(30);
  } finally {
    process.kill(other, 'SIGCONT');
  }
});
