import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { createServerFolder, execute, query, startPostgresql } from './postgresql.ts';
import { startPostgresqlCluster } from './postgresql-cluster.ts';

test('A standby follows its primary, pauses, hangs, survives crashes, and is promoted', async () => {
  await using cluster = await startPostgresqlCluster();
  const { primary, standby } = cluster;
  const { primaryUrl, standbyUrl } = await cluster.createDatabase('followed');
  await execute(primaryUrl, 'CREATE TABLE facts (fact text)');
  const write = (fact: string) => execute(primaryUrl, `INSERT INTO facts VALUES ('${fact}')`);

  await write('followed');
  await cluster.catchUp();
  expect(await factsOf(standbyUrl)).toEqual(['followed']);

  await standby.pauseReplay();
  await write('paused');
  expect(await factsOf(standbyUrl)).toEqual(['followed']);
  await standby.resumeReplay();
  await cluster.catchUp();
  expect(await factsOf(standbyUrl)).toEqual(['followed', 'paused']);

  await standby.suspend();
  await expect(factsOf(standbyUrl, 200)).rejects.toThrow('timeout expired');
  await standby.resume();

  await standby.kill();
  await write('killed');
  await standby.start();
  await cluster.catchUp();
  expect(await factsOf(standbyUrl)).toEqual(['followed', 'paused', 'killed']);

  await primary.kill();
  await standby.promote();
  await execute(standbyUrl, `INSERT INTO facts VALUES ('promoted')`);
  expect(await factsOf(standbyUrl)).toEqual(['followed', 'paused', 'killed', 'promoted']);
});

test('With synchronous replication, a commit is on the standby', async () => {
  await using cluster = await startPostgresqlCluster({ synchronousCommit: 'remote_apply' });
  const { primaryUrl, standbyUrl } = await cluster.createDatabase('synchronous');
  await execute(primaryUrl, 'CREATE TABLE facts (fact text)');
  await execute(primaryUrl, `INSERT INTO facts VALUES ('applied')`);
  expect(await factsOf(standbyUrl)).toEqual(['applied']);
});

test('A cluster whose standby does not start leaves no data behind', async () => {
  const parent = await createServerFolder(tmpdir());
  try {
    const starting = startPostgresqlCluster({ parent, standbySettings: ['no_such_setting=1'] });
    await expect(starting).rejects.toThrow('no_such_setting');
    expect(await readdir(parent)).toEqual([]);
  } finally {
    await rm(parent, { recursive: true });
  }
});

test('A server that is killed leaves no socket behind', async () => {
  await using server = await startPostgresql();
  await server.kill();
  expect(existsSync(`/tmp/.s.PGSQL.${server.port}`)).toBe(false);
});

test('A server whose process has ended unexpectedly can be stopped', async () => {
  await using server = await startPostgresql();
  const [file] = await query(server.url, `SELECT pg_read_file('postmaster.pid') AS content`);
  const pid = Number.parseInt(file?.content as string, 10);
  process.kill(pid, 'SIGINT');
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), 15_000);
  await server.stop();
});

async function factsOf(url: string, timeoutMs = 5_000): Promise<string[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
  });
  await client.connect();
  const { rows } = await client.query('SELECT fact FROM facts');
  await client.end();
  return rows.map(({ fact }) => fact);
}
