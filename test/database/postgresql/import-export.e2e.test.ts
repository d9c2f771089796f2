import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sampleRecords } from '../../../server/sample/sample.ts';
import { PASSWORD_HASH } from '../../import-export/records.ts';
import { runCommand } from '../../support/commands.ts';
import { toNdjson } from '../../support/ndjson.ts';
import {
  PASSWORD,
  type PostgresqlServer,
  query,
  startPostgresql,
} from '../../support/postgresql.ts';
import { startProcess } from '../../support/processes.ts';
import { waitUntil } from '../../support/wait-until.ts';

let server: PostgresqlServer;
beforeAll(async () => {
  server = await startPostgresql();
});
afterAll(() => server[Symbol.asyncDispose]());

test('An export of either kind of database can be imported into the other kind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(folder, { recursive: true }));
  const postgresql = {
    DATA_DIR: join(folder, 'postgresql'),
    DATABASE_URL: await server.createDatabase('exchange'),
  };
  const first = { DATA_DIR: join(folder, 'first') };
  const second = { DATA_DIR: join(folder, 'second') };

  const importInto = async (settings: Record<string, string>, input: string) => {
    const { code, stdout, stderr } = await runCommand('import', ['-'], settings, input);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toContain(
      `Database: ${settings.DATABASE_URL ? 'DATABASE_URL=postgres' : 'DATA_DIR='}`,
    );
    expect(stdout).not.toContain(PASSWORD);
  };
  const exportFrom = async (settings: Record<string, string>) =>
    (await runCommand('export', [], settings)).stdout;

  const records = [...sampleRecords(PASSWORD_HASH, new Date('2026-01-01T00:00:00Z'))];
  await importInto(first, toNdjson(records));
  const exported = await exportFrom(first);
  expect(exported.split('\n').length).toBeGreaterThan(records.length);
  await importInto(postgresql, exported);
  expect(await exportFrom(postgresql)).toBe(exported);
  // Another machine than that of the service has no data folder.
  const elsewhere = { ...postgresql, DATA_DIR: join(folder, 'missing') };
  const file = join(folder, 'export.ndjson');
  expect(await runCommand('export', [file], elsewhere)).toMatchObject({ code: 0 });
  expect(await readFile(file, 'utf8')).toBe(exported);
  await importInto(second, await exportFrom(postgresql));
  expect(await exportFrom(second)).toBe(exported);
});

test('An export to a closed pipe does not report that the database is unavailable', async () => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'exchange-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(DATA_DIR, { recursive: true }));
  const settings = { DATA_DIR, DATABASE_URL: await server.createDatabase('pipe') };
  const records = toNdjson([...sampleRecords(PASSWORD_HASH, new Date())]);
  expect(await runCommand('import', ['-'], settings, records)).toMatchObject({ code: 0 });
  const script =
    'set -o pipefail; node --import ./server/process/preload.js server/main.ts export | head -c 1';
  await using running = startProcess('bash', ['-c', script], settings);
  const { code, stderr } = await running.result;
  expect(stderr.trim().split('\n').at(-1)).toBe('write EPIPE');
  expect(code).toBe(1);
});

test('An import that loses the database does not report that its file cannot be read', async () => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'exchange-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(DATA_DIR, { recursive: true }));
  const stopping = cleanup.use(await startPostgresql());
  const DATABASE_URL = await stopping.createDatabase('stopped');
  const stopped = join(DATA_DIR, 'stopped');
  const records = join(DATA_DIR, 'records.ndjson');
  await writeFile(records, toNdjson([...sampleRecords(PASSWORD_HASH, new Date())]));
  // The file `$0` appears when the database server has stopped. The import then reads `$1`.
  const script = `{ until [ -e "$0" ]; do sleep 0.1; done; cat "$1"; } |
    node --import ./server/process/preload.js server/main.ts import -`;
  await using running = startProcess('bash', ['-c', script, stopped, records], {
    DATA_DIR,
    DATABASE_URL,
  });
  await waitUntil('The import has sent its last query before it reads', async () => {
    // The query of `hasDeletedRows` in server/account-lifecycle/erasure.ts.
    const queries = await query(
      DATABASE_URL,
      `SELECT 1 FROM pg_stat_activity
        WHERE query LIKE '%FROM spaces_to_move%' AND pid <> pg_backend_pid()`,
    );
    return queries.length > 0;
  });
  await stopping.stop();
  await writeFile(stopped, '');
  const { code, stderr } = await running.result;
  expect(stderr.trim().split('\n').at(-1)).toMatch(/^The PostgreSQL server of DATABASE_URL=/);
  expect(code).toBe(1);
});

test('An export whose connection is reset does not report that its file cannot be written', async () => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'exchange-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(DATA_DIR, { recursive: true }));
  const databaseUrl = new URL(await server.createDatabase('reset'));
  const direct = { DATA_DIR, DATABASE_URL: databaseUrl.href };
  const records = toNdjson([...sampleRecords(PASSWORD_HASH, new Date())]);
  expect(await runCommand('import', ['-'], direct, records)).toMatchObject({ code: 0 });

  const port = Number(databaseUrl.port);
  const proxy = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    client.on('data', (sent) => {
      if (sent.includes('from "messages"')) client.resetAndDestroy();
      else upstream.write(sent);
    });
    upstream.pipe(client);
    client.on('close', () => upstream.destroy());
  }).listen(0, '127.0.0.1');
  cleanup.defer(() => void proxy.close());
  await once(proxy, 'listening');
  databaseUrl.port = String((proxy.address() as AddressInfo).port);
  const settings = { DATA_DIR, DATABASE_URL: databaseUrl.href };
  const file = `${DATA_DIR}.ndjson`;
  for (const args of [[file], []]) {
    const { code, stderr } = await runCommand('export', args, settings);
    expect(stderr).toMatch(/^The PostgreSQL server of DATABASE_URL=/);
    expect(code).toBe(1);
  }
  expect(existsSync(file)).toBe(false);
});
