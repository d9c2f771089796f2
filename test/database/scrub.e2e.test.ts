import { execFile, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../server/database/open.ts';
import { runScrubProcess } from '../../server/database/sqlite/maintenance/scrub-process.ts';
import { openFile } from '../../server/database/sqlite/open-file.ts';
import { readDataFolder } from '../support/data-files.ts';

/** Without hexadecimal digits, so no random name contains it. */
const CANARY = 'zyxwvzyxwv';

const entry = new URL('../../server/database/sqlite/maintenance/scrub-entry.ts', import.meta.url);

const ROWS = 10_000;

const MAX_PADDING = 900;
const neverAborted = new AbortController().signal;

let dataDir: string;
let file: string;
let sqlite: Sqlite.Database;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'scrub-'));
  file = join(dataDir, 'space-service.sqlite');
  await (await openDatabase({ dataDir }, { runsMaintenance: false })).close();
  sqlite = openFile(file);
  insertRows();
});
afterEach(async () => {
  sqlite.close();
  await rm(dataDir, { recursive: true });
});

/** Inserts rows of different sizes at random positions, so that SQLite moves many of them to other pages. */
function insertRows(count = ROWS): void {
  const insert = sqlite.prepare('INSERT INTO discarded_avatars VALUES (?, ?)');
  sqlite.transaction(() => {
    for (let i = 0; i < count; i += 1) {
      const owner = i % 3 === 0 ? CANARY : 'other user';
      const padding = '.'.repeat(Math.random() * MAX_PADDING);
      insert.run(randomBytes(16).toString('hex'), `${owner} ${i}${padding}`);
    }
  })();
}

function deleteRows(): void {
  sqlite.exec(`DELETE FROM discarded_avatars WHERE remove_after LIKE '${CANARY}%'`);
}

function readRows(): unknown[] {
  return sqlite.prepare('SELECT * FROM discarded_avatars').all();
}

/** Returns how often the deleted rows occur in the files. */
async function countRemains(): Promise<number> {
  sqlite.pragma('wal_checkpoint(TRUNCATE)');
  let count = 0;
  for (const { content } of await readDataFolder(dataDir)) {
    count += content.toString('latin1').split(CANARY).length - 1;
  }
  return count;
}

describe('runScrubProcess', () => {
  test('overwrites copies of deleted rows that secure_delete leaves, and keeps all other rows', async () => {
    deleteRows();
    const rows = readRows();
    expect(await countRemains()).toBeGreaterThan(0);
    await runScrubProcess(file, neverAborted);
    expect(await countRemains()).toBe(0);
    expect(sqlite.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(readRows()).toEqual(rows);
  });

  test('prevents other connections from writing overwritten bytes again', async () => {
    deleteRows();
    expect(await countRemains()).toBeGreaterThan(0);
    // Reads every page into the cache, with the bytes to be overwritten.
    sqlite.pragma('cache_size = -100000');
    readRows();
    await runScrubProcess(file, neverAborted);
    sqlite.exec(`UPDATE discarded_avatars SET remove_after = upper(remove_after)`);
    expect(await countRemains()).toBe(0);
  });

  test('waits for other writers, who continue meanwhile', async () => {
    deleteRows();
    let isEnded = false;
    sqlite.exec('BEGIN IMMEDIATE');
    const scrubbing = runScrubProcess(file, neverAborted).finally(() => {
      isEnded = true;
    });
    await sleep(1_000);
    expect(isEnded).toBe(false);
    sqlite.exec('COMMIT');
    const insert = sqlite.prepare('INSERT INTO discarded_avatars VALUES (?, ?)');
    sqlite.pragma('busy_timeout = 10000');
    let inserted = 0;
    while (!isEnded) {
      insert.run(`new ${inserted}`, '');
      inserted += 1;
      await sleep(5);
    }
    await scrubbing;
    expect(await countRemains()).toBe(0);
    expect(sqlite.pragma('integrity_check', { simple: true })).toBe('ok');
    const added = `SELECT count(*) FROM discarded_avatars WHERE avatar LIKE 'new %'`;
    expect(sqlite.prepare(added).pluck().get()).toBe(inserted);
  });

  test('stops when the signal is aborted', async () => {
    sqlite.exec('BEGIN IMMEDIATE');
    const stopping = new AbortController();
    const scrubbing = runScrubProcess(file, stopping.signal);
    stopping.abort();
    await scrubbing;
    sqlite.exec('COMMIT');
  });

  test('rejects if another connection reads too long, and succeeds afterwards', async () => {
    deleteRows();
    expect(await countRemains()).toBeGreaterThan(0);
    sqlite.exec('BEGIN');
    readRows();
    const other = openFile(file);
    other.exec('CREATE TABLE other (a)');
    other.close();
    await expect(runScrubProcess(file, neverAborted, 200)).rejects.toMatchObject({
      code: 'SQLITE_BUSY',
    });
    sqlite.exec('COMMIT');
    await runScrubProcess(file, neverAborted, 10_000);
    expect(await countRemains()).toBe(0);
  });

  test('rejects with the error of an unavailable database', async () => {
    // A folder is not a database.
    await expect(runScrubProcess(dataDir, neverAborted)).rejects.toMatchObject({
      code: 'SQLITE_CANTOPEN',
    });
  });
});

test('A database stays intact when the scrub process is killed', async () => {
  let kills = 0;
  for (let i = 0; i < 8; i += 1) {
    insertRows(1_000);
    deleteRows();
    const rows = readRows();
    // Empties the write-ahead log. From now on, only overwriting changes the file.
    sqlite.pragma('wal_checkpoint(TRUNCATE)');
    const { mtimeMs } = statSync(file);
    const child = fork(entry, [file, '10000'], { execArgv: [] });
    const closed = once(child, 'close');
    const hasBegun = () => statSync(file).mtimeMs > mtimeMs || child.exitCode !== null;
    await expect.poll(hasBegun, { interval: 1 }).toBe(true);
    await sleep(Math.random() * 20);
    child.kill('SIGKILL');
    const [code, killedBy] = await closed;
    // It may end before it is killed.
    expect([code, killedBy]).toEqual(code === null ? [null, 'SIGKILL'] : [0, null]);
    if (code === null) kills += 1;
    expect(sqlite.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(readRows()).toEqual(rows);
  }
  expect(kills).toBeGreaterThan(0);
  await runScrubProcess(file, neverAborted);
  expect(await countRemains()).toBe(0);
});

test('a scrub process that fails after its service has exited prints nothing', async () => {
  const missing = join(dataDir, 'missing', 'file.sqlite');
  const service = `
    const { fork } = require('node:child_process');
    const options = { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] };
    const child = fork(${JSON.stringify(entry.pathname)}, [${JSON.stringify(missing)}, '10000'], options);
    child.once('spawn', () => process.exit());`;
  // Waits for the scrub process, too, which has the same standard error.
  const { stderr } = await promisify(execFile)(process.execPath, ['-e', service]);
  expect(stderr).toBe('');
});
