import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import dashboard from '../../deploy/grafana-dashboard.json' with { type: 'json' };
import * as api from '../../generated/sdk.gen.ts';
import { completeCommand } from '../support/commands.ts';
import { findGoProgram } from '../support/go-programs.ts';
import { parseMetrics } from '../support/metrics.ts';
import { createSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const promtool = findGoProgram('promtool', 'github.com/prometheus/prometheus/cmd/promtool');
const page = readFileSync('docs/operating.md', 'utf8');

describe('The metrics', () => {
  const app = useApp({ METRICS_TOKEN: 'sesame' });
  const scrape = async () => {
    const headers = { authorization: 'Bearer sesame' };
    return await (await app.fetch('/metrics', { headers })).text();
  };
  let text: string;
  let names: string[];

  beforeAll(async () => {
    await app.register();
    await app.fetch('/api/spaces/search?q=tea');
    await scrape();
    // It shows the first scrape as a request.
    text = await scrape();
    names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string);
  });

  // With the rules of `promtool check metrics` that names alone can break.
  test('have a prefix, base units, and the suffix of counters only as counters', () => {
    expect(names.length).toBeGreaterThan(30);
    for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      expect(name).toMatch(/^(space_service|process|nodejs)(_[a-z0-9]+)+$/);
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(name).not.toMatch(/_(milliseconds|ms|minutes|hours|days|kilobytes|megabytes)(_|$)/);
      expect(name).not.toMatch(/_(gauge|counter|histogram|summary|count|sum|bucket)$/);
    }
  });

  test.skipIf(!promtool)('pass promtool check metrics', () => {
    execFileSync(promtool as string, ['check', 'metrics'], { input: text, encoding: 'utf8' });
  });

  test('of the dashboard and of the documents exist', () => {
    const series = names.flatMap((name) => [name, `${name}_bucket`, `${name}_count`]);
    const used = `${JSON.stringify(dashboard)}\n${page}`.match(
      /\b(space_service|nodejs|process)_[a-z0-9_]+\b/g,
    );
    expect(used?.length).toBeGreaterThan(40);
    expect([...new Set(used)].filter((name) => !series.includes(name))).toEqual([]);
  });

  test('of the service are all in the documents and in the dashboard', () => {
    const own = names.filter((name) => name.startsWith('space_service_'));
    const expressions = JSON.stringify(dashboard.panels);
    expect(own.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
    expect(own.filter((name) => !expressions.includes(name))).toEqual([]);
  });

  test('count accounts, reports, waiting requests and bytes, and know the last backup', async () => {
    const earlier = parseMetrics(text);
    expect(earlier('space_service_accounts')).toBe(1);
    expect(earlier('space_service_open_reports')).toBe(0);
    expect(earlier('space_service_last_backup_timestamp_seconds')).toBe(0);
    const size = earlier('space_service_database_size_bytes');
    expect(size).toBeGreaterThan(4096);
    expect(size % 4096).toBe(0);

    const { client } = await app.register();
    const reporter = await app.register();
    const space = await createSpace({ client });
    const path = { space_id: space.space_id };
    await api.reportSpace({ client: reporter.client, path, body: { reason: 'Spam' } });
    const { data: list } = await api.listParticipations({ client, throwOnError: true });
    const query = { after: list.newer_cursor, wait: 5 };
    const stopping = new AbortController();
    const { signal } = stopping;
    const waiting = api.listParticipations({ client, query, signal });
    const startedAt = Math.floor(Date.now() / 1000);
    const backup = join(tmpdir(), `metrics-${process.pid}.sqlite`);
    await completeCommand('backup', [backup], { DATA_DIR: app.context.config.dataDir });
    await rm(backup);
    const read = async () => parseMetrics(await scrape());
    await expect.poll(async () => (await read())('space_service_waiting_requests')).toBe(1);
    const figure = await read();
    expect(figure('space_service_open_reports')).toBe(1);
    expect(figure('space_service_database_log_size_bytes')).toBeGreaterThan(4096);
    expect(figure('space_service_last_backup_timestamp_seconds')).toBeGreaterThanOrEqual(startedAt);
    stopping.abort();
    await waiting;
  });
});
