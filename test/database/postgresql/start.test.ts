import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as api from '../../../generated/sdk.gen.ts';
import { updateSearchIndex } from '../../../server/search/rebuild.ts';
import { startApp } from '../../support/app.ts';
import { runCommand } from '../../support/commands.ts';
import { EX_CONFIG, EX_TEMPFAIL } from '../../support/exit-codes.ts';
import { freePort } from '../../support/ports.ts';
import { PASSWORD, startPostgresql, USER } from '../../support/postgresql.ts';
import { createSpace } from '../../support/spaces.ts';
import { startSwitchingProxy } from '../../support/switching-proxy.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'postgresql-start-'));
});
afterAll(() => rm(dataDir, { recursive: true }));

const runMain = async (databaseUrl: string) =>
  runCommand('main', [], {
    DATA_DIR: dataDir,
    PORT: String(await freePort()),
    LOG_LEVEL: 'silent',
    DATABASE_URL: databaseUrl,
  });

/** Returns the exit code of a start that fails because of the server of `databaseUrl`. */
const start = async (databaseUrl: string) => {
  const { code, stderr } = await runMain(databaseUrl);
  expect(stderr).toMatch(/^The PostgreSQL server of DATABASE_URL=\S+ [^\n]+\n$/);
  expect(stderr).not.toContain(PASSWORD);
  return code;
};

test('If PostgreSQL cannot be reached, the exit code tells the service manager to restart the server', async () => {
  const unused = `postgres://${USER}:${PASSWORD}@127.0.0.1:${await freePort()}/spaces`;
  expect(await start(unused)).toBe(EX_TEMPFAIL);
  // Like a proxy without a primary.
  await using proxy = await startSwitchingProxy();
  expect(await start(proxy.urlOf(unused))).toBe(EX_TEMPFAIL);
}, 30_000);

test('If the settings are wrong, the exit code tells the service manager not to restart the server', async () => {
  await using server = await startPostgresql();
  const missingFile = `${server.url}?sslrootcert=${join(dataDir, 'missing.pem')}`;
  const { code, stderr } = await runMain(missingFile);
  expect(stderr).toMatch(/^ENOENT[^\n]+missing\.pem'\n$/);
  expect(code).toBe(EX_CONFIG);
  const wrongPassword = new URL(server.url);
  wrongPassword.password = 'wrong';
  const missing = server.url.replace(/postgres$/, 'missing');
  for (const url of [wrongPassword.href, missing]) expect(await start(url)).toBe(EX_CONFIG);
}, 30_000);

test('Servers that start at the same time rebuild an outdated search index only once', async () => {
  await using server = await startPostgresql();
  await using app = await startApp({ DATABASE_URL: await server.createDatabase('outdated') });
  const space = await createSpace(await app.register(), { title: 'Mountains' });
  const { engine } = app.context;
  await engine.db.updateTable('search_index').set({ version: 0 }).execute();
  const progress: number[] = [];
  const update = () => updateSearchIndex(engine, (spaces) => progress.push(spaces));
  await Promise.all([update(), update(), update(), update()]);
  expect(progress).toEqual([1]);
  const { data } = await api.searchSpaces({ client: app.client(), query: { q: 'mountains' } });
  expect(data).toMatchObject([{ space_id: space.space_id }]);
}, 30_000);

test('If PgBouncer rejects the timeouts of the connections, the server says which setting accepts them', async () => {
  const message = 'unsupported startup parameter: statement_timeout';
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(length.length + fields.length);
  const pgbouncer = createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.concat([Buffer.from('E'), length, fields])));
  });
  pgbouncer.listen(0, '127.0.0.1');
  await once(pgbouncer, 'listening');
  try {
    const { port } = pgbouncer.address() as AddressInfo;
    const url = `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/spaces`;
    const { code, stderr } = await runMain(url);
    expect(stderr).toMatch(/^The PostgreSQL server of [^\n]+ ignore_startup_parameters\.\n$/);
    expect(code).toBe(EX_CONFIG);
  } finally {
    pgbouncer.close();
  }
}, 30_000);
