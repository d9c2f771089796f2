import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { pipeToImport } from '../../support/import.ts';
import { cpuSeconds } from '../../support/process-usage.ts';
import { startServer } from '../../support/server.ts';
import { recordsOfService } from './data.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Files and folders that determine the content of kept databases. If any changes, all databases are rebuilt. */
const INPUT_FILES = [
  'test/trials/bench/data.ts',
  'test/trials/bench/references/postgres.ts',
  'test/trials/bench/references/rank.ts',
  'test/trials/bench/references/search-engines.ts',
  'test/support/postgresql.ts',
  'server/text/words',
  'test/trials/bench/random.ts',
  'test/trials/bench/vocabulary.ts',
  'server/sample/random.ts',
  'server/search',
  'server/database/sqlite/migrations',
  'server/database/sqlite/word-index.ts',
];

/**
 * Returns a data folder with this number of spaces. Builds it with `npm run import` unless an earlier run has built it.
 */
export async function buildDatabase(spaces: number): Promise<string> {
  const cache = await cacheFolder();
  const dataDir = join(cache, String(spaces));
  if (!existsSync(dataDir)) await importSpaces(dataDir, spaces);
  keepInMemory(join(dataDir, 'space-service.sqlite'));
  return dataDir;
}

/** The handles that keep files in memory. */
const handles = new Map<string, Sqlite.Database>();

/** SQLite maps at most this much of a file. */
const MAX_MAPPED_BYTES = 2 ** 31 - 2 ** 16;

/**
 * Keeps a database file in memory while this process runs, because the benchmark does not measure disks. Some virtual
 * machines reclaim memory after a few idle seconds.
 */
export function keepInMemory(file: string): void {
  if (handles.has(file)) return;
  const handle = new Sqlite(file, { readonly: true });
  handles.set(file, handle);
  if (statSync(file).size > MAX_MAPPED_BYTES) {
    console.warn(`  ${file} is too large to be kept in memory as a whole`);
  }
  // dbstat reads each page once. Mapped pages stay in memory.
  handle.pragma(`mmap_size = ${MAX_MAPPED_BYTES}`);
  handle.prepare('SELECT sum(pgsize) FROM dbstat').get();
}

/** Closes the handle of a file, which would keep the disk space of a deleted file. */
function release(file: string): void {
  handles.get(file)?.close();
  handles.delete(file);
}

/** A value for the service on each database. */
export interface PerDatabase<T> {
  sqlite: T;
  postgresql: T;
}

/** A copy of a data folder that the benchmark writes to. Disposing of it deletes it. */
export interface DataCopy extends AsyncDisposable {
  dataDir: string;
}

export async function copyData(dataDir: string): Promise<DataCopy> {
  const copy = await mkdtemp(join(dirname(dataDir), 'written-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(copy, { recursive: true }));
  for (const end of ['', '-wal']) {
    const file = `space-service.sqlite${end}`;
    await cp(join(dataDir, file), join(copy, file)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
  const database = join(copy, 'space-service.sqlite');
  keepInMemory(database);
  cleanup.defer(() => release(database));
  const owned = cleanup.move();
  return { dataDir: copy, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function importSpaces(dataDir: string, spaces: number): Promise<void> {
  console.log(`  building a service of ${spaces.toLocaleString('en')} spaces`);
  const unfinished = `${dataDir}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const { records, seconds } = await importRecords(
    { DATA_DIR: unfinished },
    recordsOfService(spaces),
  );
  console.log(
    `  ${records.toLocaleString('en')} records in ${Math.round(seconds)} s; merging the index`,
  );
  await using server = await startServer({ DATA_DIR: unfinished });
  await waitUntilIdle(server.child);
  await server.stop();
  await rename(unfinished, dataDir);
}

/**
 * Runs `npm run import` and generates its input while it reads.
 * @param settings environment variables that locate the database
 * @returns the number of lines, and the time from the start of the command to its exit
 */
export async function importRecords(
  settings: { DATA_DIR: string; DATABASE_URL?: string },
  lines: Iterable<string>,
): Promise<{ records: number; seconds: number }> {
  await mkdir(settings.DATA_DIR, { recursive: true });
  let records = 0;
  const generateChunks = function* () {
    for (const chunk of chunksOf(lines, 500)) {
      records += chunk.length;
      yield `${chunk.join('\n')}\n`;
      if (records % 10_000 === 0) progress(`  importing: ${records.toLocaleString('en')} records`);
    }
    progress(`  importing: ${records.toLocaleString('en')} records read`);
  };
  const startedAt = performance.now();
  await pipeToImport(settings, generateChunks());
  progress('');
  return { records, seconds: (performance.now() - startedAt) / 1000 };
}

/** Waits until a server is idle, for example after merging its index. Returns after five minutes at the latest. */
export async function waitUntilIdle(child: ChildProcess): Promise<void> {
  for (let quiet = 0, i = 0; quiet < 4 && i < 600; i += 1) {
    const before = cpuSeconds(child.pid as number);
    await sleep(500);
    quiet = cpuSeconds(child.pid as number) - before < 0.04 ? quiet + 1 : 0;
  }
}

/** Names of files and folders that a run deletes or renames. */
const TEMPORARY = /^(written|postgresql|space-service-postgresql)-|\.unfinished$/;

let folderOfRun: Promise<string> | undefined;

/** Returns the folder for databases and indexes that are kept between runs. It does not change during a run. */
export function cacheFolder(): Promise<string> {
  folderOfRun ??= openCacheFolder();
  return folderOfRun;
}

/**
 * Creates the folder for the current content of the input files. Deletes the folders of earlier ones, and what an
 * interrupted run has left.
 */
async function openCacheFolder(): Promise<string> {
  const all = join(root, 'node_modules/.cache/space-service-bench');
  const hash = createHash('sha256');
  for (const path of INPUT_FILES) {
    for (const file of await filesOf(join(root, path))) hash.update(await readFile(file));
  }
  const folder = join(all, hash.digest('hex').slice(0, 12));
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(all)) {
    if (join(all, name) !== folder) await rm(join(all, name), { recursive: true });
  }
  for (const name of await readdir(folder)) {
    if (TEMPORARY.test(name)) await rm(join(folder, name), { recursive: true });
  }
  return folder;
}

async function filesOf(path: string): Promise<string[]> {
  if (path.endsWith('.ts')) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

export function* chunksOf<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = [];
  for (const item of items) {
    chunk.push(item);
    if (chunk.length === size) {
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}

/** Replaces the last progress message. Prints nothing if standard error is not a terminal. */
export function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
