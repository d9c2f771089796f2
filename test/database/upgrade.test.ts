import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrations } from '../../server/database/sqlite/migrations/index.ts';
import { startApp } from '../support/app.ts';
import { completeCommand } from '../support/commands.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { assertIndexed, assertIntact, databaseFile, withDatabase } from '../support/integrity.ts';
import { migrate } from './migrate.ts';

// For each released version and some states before a release, upgrades/ contains a dump of a database with the
// migrations of that version, and the export of the same database. Both are named after the last migration. To add a
// version, see upgrades/write-dump.ts.
const upgrades = join(import.meta.dirname, 'upgrades');
const names = Object.keys(migrations);
const dumps = names.filter((name) => existsSync(join(upgrades, `${name}.sql`)));
const newest = names.at(-1) as string;

let dataDir: string;
let file: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'upgrade-'));
  file = databaseFile(dataDir);
});
afterEach(() => rm(dataDir, { recursive: true }));

/**
 * Creates a database with the migrations up to `name` and the rows of the latest dump up to that migration.
 * @returns the name of the dump
 */
async function createOldDatabase(name: string): Promise<string> {
  const dump = dumps.findLast((each) => each <= name) as string;
  await migrate(file, dump);
  const sqlite = new Sqlite(file);
  // The dump lists tables in alphabetical order, not parents first.
  sqlite.pragma('foreign_keys = OFF');
  sqlite.exec(readFileSync(join(upgrades, `${dump}.sql`), 'utf8'));
  expect(sqlite.pragma('foreign_key_check')).toEqual([]);
  sqlite.close();
  await migrate(file, name);
  return dump;
}

function readRows(path: string, query: string): unknown[] {
  return withDatabase(path, (sqlite) => sqlite.prepare(query).all());
}

/** Returns the schema, including SQLite's own tables, and the settings of the word index. */
function readSchema(path: string): unknown[] {
  return [
    ...readRows(path, 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name'),
    ...readRows(path, 'SELECT k, v FROM word_index_config ORDER BY k'),
  ];
}

const parseLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

test('upgrades/ contains a dump for the first migration, and only dumps for existing migrations', () => {
  const files = globSync('*.sql', { cwd: upgrades }).map((each) => basename(each, '.sql'));
  expect(files.sort()).toEqual(dumps);
  expect(dumps[0]).toBe(names[0]);
});

test.each(dumps)('the dump %s contains rows for every table', async (dump) => {
  await createOldDatabase(dump);
  const tables = readRows(
    file,
    `SELECT name FROM pragma_table_list
     WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT GLOB 'sqlite_*'`,
  ) as { name: string }[];
  expect(tables.length).toBeGreaterThan(15);
  const isEmpty = ({ name }: { name: string }) =>
    readRows(file, `SELECT 1 FROM ${name} LIMIT 1`).length === 0;
  expect(tables.filter(isEmpty)).toEqual([]);
});

/** Expects that the database has the current schema, and exports the records of the dump. */
async function expectUpgraded(dump: string): Promise<void> {
  const exported = await completeCommand('export', [], { DATA_DIR: dataDir });
  const records = parseLines(readFileSync(join(upgrades, `${dump}.ndjson`), 'utf8'));
  expect(parseLines(exported)).toMatchObject(records);

  const fresh = join(dataDir, 'fresh.sqlite');
  await migrate(fresh, newest);
  expect(readSchema(file)).toEqual(readSchema(fresh));
  assertIntact(dataDir);
}

// Without a server, whose start takes most of the time: one that starts with an older dump performs these migrations, too.
const others = names.filter((name) => name !== newest && !dumps.includes(name));
test.each(others)('upgrades a database with the migrations up to %s', async (name) => {
  const dump = await createOldDatabase(name);
  await migrate(file, newest);
  await expectUpgraded(dump);
});

test.each([...dumps, newest])(
  'starts with a database with the migrations up to %s',
  async (name) => {
    const dump = await createOldDatabase(name);

    {
      await using app = await startApp({ DATA_DIR: dataDir });
      const call = async (path: string, init?: RequestInit) => {
        const response = await app.fetch(path, init);
        const body = await response.json();
        expect(response.status, JSON.stringify(body)).toBe(200);
        return body;
      };
      const search = await call('/api/spaces/search?q=bread');
      const found = search.map(({ title }: { title: string }) => title);
      expect(found).toEqual(['Ada\'s "Bread"', '東京の散歩']);
      const tagged = await call('/api/spaces/tag/baking');
      expect(tagged).toEqual([search[0]]);
      expect(search[0]).toMatchObject({
        space_id: 'bread',
        description: 'Crème & C++',
        creator: { user_id: 'ada', username: 'Ada' },
        participant_count: 2,
        tags: [{ tag_name: 'Baking' }, { tag_name: 'C++' }],
      });

      const { access_token } = await call('/api/auth/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
      });
      const headers = { authorization: `Bearer ${access_token}` };
      expect(await call('/api/profile/me', { headers })).toMatchObject({
        user_id: 'ada',
        username: 'Ada',
        email: 'Ada@example.com',
        bio: 'Likes "bread" and\nit\'s tea 🫖',
        profile_picture: `${app.url}/avatars/ada-avatar-name-000000.webp`,
        is_verified: true,
        created_at: '2026-01-01T00:00:00.000Z',
        updated_at: '2026-01-02T00:00:00.000Z',
        stats: {
          spaces_created: 1,
          spaces_participated: 2,
          total_words_contributed: 5,
          total_appreciations_received: 2,
        },
      });
      await waitForDictionary(app);
    }

    await expectUpgraded(dump);
    // Fails if results or words have changed without an increase of INDEX_VERSION, because the index was not rebuilt.
    const rows = await assertIndexed(dataDir);
    expect(rows).toMatchObject({ public_spaces: 2, tag_hits: 2, dictionary: expect.any(Number) });
    expect(rows.dictionary).toBeGreaterThan(20);
  },
);

test('keeps the sessions of a database without session ids, and gives each an id', async () => {
  await createOldDatabase('0004-word-index');
  const sessions = 'SELECT pk, token_hash, user_pk, created_at, last_used_at FROM sessions';
  const before = readRows(file, sessions);
  expect(before).not.toEqual([]);
  await migrate(file, newest);
  expect(readRows(file, sessions)).toEqual(before);
  const ids = readRows(file, 'SELECT DISTINCT session_id FROM sessions');
  expect(ids).toHaveLength(before.length);
  expect(ids[0]).toEqual({ session_id: expect.stringMatching(/^[0-9a-f]{32}$/) });
});

test('assertIndexed detects a stored result that differs from a rebuilt one', async () => {
  await createOldDatabase(newest);
  {
    await using _app = await startApp({ DATA_DIR: dataDir });
  }
  await assertIndexed(dataDir);
  withDatabase(file, (sqlite) =>
    sqlite.exec(`UPDATE public_spaces SET tail = replace(tail, '"tags"', '"lang":null,"tags"')`),
  );
  await expect(assertIndexed(dataDir)).rejects.toThrow('lang');
});
