import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../server/database/open.ts';
import { MARKER_NAME } from '../../server/storage/database-marker.ts';
import { runCommand, runProgram, startProgram } from '../support/commands.ts';
import { damageTable } from '../support/damage.ts';
import { EX_CONFIG } from '../support/exit-codes.ts';
import { withDatabase } from '../support/integrity.ts';
import { freePort, occupyPort } from '../support/ports.ts';
import { startServer } from '../support/server.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'start-'));
});
afterAll(() => rm(folder, { recursive: true }));

const startMain = (settings: Record<string, string>) =>
  startProgram('start', [], { DATA_DIR: join(folder, 'data'), ...settings });
const runMain = (settings: Record<string, string>) =>
  runProgram('start', [], { DATA_DIR: join(folder, 'data'), ...settings });

/** Sends a request on a new connection. Returns whether it succeeds. */
const succeeds = (url: string) =>
  new Promise<boolean>((resolve) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false));
  });

describe('npm start', () => {
  test('rejects an invalid setting with one line', async () => {
    const { code, stderr } = await runMain({ PORT: 'http' });
    expect({ code, stderr }).toEqual({
      code: EX_CONFIG,
      stderr: 'PORT=http is invalid: must be a whole number from 0 to 65535.\n',
    });
  });

  test('rejects a port that is in use with one line', async () => {
    await using occupied = await occupyPort();
    const PORT = String(occupied.port);
    const { code, stderr } = await runMain({ PORT });
    expect(code).toBe(EX_CONFIG);
    expect(stderr).toBe(`PORT=${PORT} is in use on 127.0.0.1. Set PORT to another number.\n`);
  });

  const unusable: [string, (file: string) => void, RegExp][] = [
    [
      'that is not a database',
      (file) => writeFileSync(file, 'a'.repeat(4096)),
      /is not a SQLite database/,
    ],
    [
      'that is damaged',
      (file) => {
        const sqlite = new Sqlite(file);
        sqlite.exec('CREATE TABLE kysely_migration (name)');
        sqlite.close();
        writeFileSync(file, readFileSync(file).fill(0xff, 100, 4096));
      },
      /is damaged\. Run check-database/,
    ],
    [
      'of another program',
      (file) => new Sqlite(file).exec('CREATE TABLE notes (text)').close(),
      /is the database of another program/,
    ],
    [
      'of another program with the same library for migrations',
      (file) =>
        new Sqlite(file)
          .exec('CREATE TABLE kysely_migration (name, timestamp)')
          .exec("INSERT INTO kysely_migration VALUES ('001_orders', '2026-01-01')")
          .close(),
      /is the database of another program/,
    ],
    [
      'of another program with the same library, but without migrations',
      (file) =>
        new Sqlite(file)
          .exec('CREATE TABLE kysely_migration (name, timestamp)')
          .exec('CREATE TABLE orders (id)')
          .close(),
      /is the database of another program/,
    ],
    [
      'of a newer version',
      (file) =>
        new Sqlite(file)
          .exec('CREATE TABLE kysely_migration (name, timestamp)')
          .exec("INSERT INTO kysely_migration VALUES ('0001-initial', '2026-01-01')")
          .exec("INSERT INTO kysely_migration VALUES ('9999-later', '2099-01-01')")
          .close(),
      /was migrated by a newer version/,
    ],
  ];
  test.each(unusable)(
    'rejects a database file %s with one line and leaves it unchanged',
    async (name, createFile, message) => {
      const DATA_DIR = join(folder, name.replaceAll(' ', '-'));
      const file = join(DATA_DIR, 'space-service.sqlite');
      await mkdir(DATA_DIR);
      createFile(file);
      const before = await readFile(file);
      const PORT = String(await freePort());
      const { code, stderr } = await runCommand('start', [], {
        DATA_DIR,
        PORT,
        LOG_LEVEL: 'silent',
      });
      expect(code).toBe(EX_CONFIG);
      expect(stderr).toMatch(message);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(stderr).toContain(file);
      expect(await readFile(file)).toEqual(before);
    },
  );

  test('prints one line if the database fails while the search index is rebuilt', async () => {
    const DATA_DIR = join(folder, 'damaged');
    await (await openDatabase({ dataDir: DATA_DIR }, { runsMaintenance: false })).close();
    const file = join(DATA_DIR, 'space-service.sqlite');
    withDatabase(file, (sqlite) => sqlite.exec('UPDATE search_index SET version = 0'));
    damageTable(file, 'spaces');
    const { code, stderr } = await runMain({ DATA_DIR, PORT: String(await freePort()) });
    expect({ code, stderr }).toEqual({
      code: EX_CONFIG,
      stderr: `${file} is damaged. Run check-database, which says what to do.\n`,
    });
  });

  test.each([
    [
      { HOST: 'no.such.host.invalid' },
      /^HOST=no\.such\.host\.invalid is not an address of this machine\. Set HOST to /,
    ],
    [
      { HOST: '203.0.113.1' },
      /^HOST=203\.0\.113\.1 is not an address of this machine\. Set HOST to /,
    ],
    [{ HOST: '999.1.1.1' }, /^HOST=999\.1\.1\.1 is invalid/],
    [{ DATA_DIR: '/dev/null' }, /^DATA_DIR=\/dev\/null is not a folder\. Set it to a folder\.$/m],
    [{ DATA_DIR: '/dev/null/a' }, /^DATA_DIR=\/dev\/null\/a cannot be created\. .*ENOTDIR/],
  ])('rejects %j with one line', async (settings, message) => {
    const PORT = String(await freePort());
    const DATA_DIR = join(folder, PORT);
    const all = { DATA_DIR, PORT, LOG_LEVEL: 'silent', ...settings };
    const { code, stderr } = await runCommand('start', [], all);
    expect(code).toBe(EX_CONFIG);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test.each(['1', '2'])(
    'with WORKERS=%s, rejects the avatar folder of another database with one line',
    async (WORKERS) => {
      const DATA_DIR = join(folder, `foreign-avatars-${WORKERS}`);
      const avatars = join(DATA_DIR, 'avatars');
      await mkdir(avatars, { recursive: true });
      await writeFile(join(avatars, MARKER_NAME), 'other\n');
      const PORT = String(await freePort());
      const { code, stderr } = await runMain({ DATA_DIR, PORT, WORKERS, LOG_LEVEL: 'silent' });
      expect(code).toBe(EX_CONFIG);
      expect(stderr).toMatch(/^The avatar folder \S+ belongs to another database[^\n]+\n$/);
      expect(await readdir(avatars)).toEqual([MARKER_NAME]);
    },
  );

  test('logs its start and its stop', async () => {
    const DATA_DIR = join(folder, 'logged');
    const PORT = String(await freePort());
    await using server = startMain({ DATA_DIR, PORT, HOST: '0.0.0.0' });
    await expect.poll(() => succeeds(`http://127.0.0.1:${PORT}/readyz`)).toBe(true);
    server.child.kill('SIGTERM');
    await server.result;
    const log = server
      .stdout()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(log[0]).toMatchObject({ msg: 'starting', dataDir: DATA_DIR, database: 'new' });
    expect(log[1].msg).toBe('sending no mail, because MAIL_URL is not set');
    expect(log[2].msg).toContain('Set PUBLIC_URL');
    expect(log.map(({ msg }) => msg).slice(-2)).toEqual(['stopping', 'stopped']);
    expect((await stat(DATA_DIR)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(DATA_DIR)) {
      expect((await stat(join(DATA_DIR, name))).mode & 0o077).toBe(0);
    }
  });

  test('starts several workers, replaces a killed one and stops all of them', async () => {
    await using server = await startServer({ WORKERS: '2', LOG_LEVEL: 'info' });
    const search = `${server.url}/api/spaces/search?q=bread`;
    /** Waits until this many workers have responded since the start. */
    const waitForWorkers = (count: number) =>
      expect.poll(async () => (await succeeds(search)) && workers().size).toBe(count);
    const workers = () =>
      new Set(
        [...server.output().matchAll(/"pid":(\d+),[^\n]*request answered/g)].map(([, pid]) =>
          Number(pid),
        ),
      );
    await waitForWorkers(2);

    const [killed] = workers();
    process.kill(killed as number, 'SIGKILL');
    await expect.poll(server.output).toContain('worker exited, starting another one');
    await waitForWorkers(3);
    expect(await server.stop()).toBe(0);
    expect(await succeeds(search)).toBe(false);
  });
});
