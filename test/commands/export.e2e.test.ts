import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { runCommand } from '../support/commands.ts';
import { databaseFile } from '../support/integrity.ts';
import { toNdjson } from '../support/ndjson.ts';
import { startProcess } from '../support/processes.ts';

/** More text than the buffers of a pipe hold. */
const MESSAGES = 2_000;

function* records(): Iterable<object> {
  yield { type: 'user', user_id: 'ada', username: 'ada', email: 'ada@example.com' };
  yield { type: 'space', space_id: 'bread', creator_id: 'ada', title: 'Bread' };
  for (let i = 0; i < MESSAGES; i += 1) {
    const message_id = `m${i}`;
    const text = 'x'.repeat(1_000);
    yield { type: 'message', message_id, space_id: 'bread', author_id: 'ada', text };
  }
}

test('An export to a pipe that nobody reads does not hold a snapshot of the database', async () => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'export-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(DATA_DIR, { recursive: true }));
  await runCommand('import', ['-'], { DATA_DIR }, toNdjson(records()));
  const before = await readdir(DATA_DIR);
  const sqlite = cleanup.adopt(new Sqlite(databaseFile(DATA_DIR)), (each) => void each.close());
  sqlite.pragma('journal_mode = WAL');

  const args = ['--import', './server/process/preload.js', 'server/main.ts', 'export'];
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, DATA_DIR },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanup.defer(() => void child.kill('SIGKILL'));
  // The export has begun to write.
  await once(child.stdout, 'readable');

  const truncateLog = () => {
    sqlite.exec("UPDATE users SET bio = 'changed'");
    return sqlite.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  };
  await expect.poll(truncateLog).toMatchObject([{ busy: 0 }]);
  // The temporary file of the export has no name, so that nothing can remain of it.
  const names = await readdir(DATA_DIR);
  expect(names.filter((name) => !/-(wal|shm)$/.test(name))).toEqual(before);

  const output = await text(child.stdout);
  const lines = output.trim().split('\n');
  expect(lines).toHaveLength(MESSAGES + 3);
  expect(JSON.parse(lines[0] as string)).toMatchObject({ user_id: 'ada', bio: '' });
});

test('An export to a closed pipe fails with one line', async () => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'export-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(DATA_DIR, { recursive: true }));
  await runCommand('import', ['-'], { DATA_DIR }, toNdjson(records()));
  const script =
    'set -o pipefail; node --import ./server/process/preload.js server/main.ts export | head -c 1';
  // Without `--norc`, bash runs ~/.bashrc, which can print errors, because its standard input is a socket.
  await using running = startProcess('bash', ['--norc', '-c', script], { DATA_DIR });
  const { code, stderr } = await running.result;
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'write EPIPE\n' });
});
