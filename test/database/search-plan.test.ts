import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { type CompiledQuery, Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { avatarUrls } from '../../server/avatars/store.ts';
import type { Database, Engine } from '../../server/database/engine.ts';
import type { Schema } from '../../server/database/schema.ts';
import { sqliteDialect } from '../../server/database/sqlite/dialect.ts';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
import { buildTrie } from '../../server/search/dictionary/build-trie.ts';
import {
  type Dictionary,
  readDictionary,
  refreshDictionary,
} from '../../server/search/dictionary/dictionary.ts';
import { searchTag } from '../../server/search/tag-search.ts';
import { searchText } from '../../server/search/text-search.ts';
import type { SearchView } from '../../server/search/view.ts';
import { writerOf } from '../../server/search/writer-of.ts';
import { parseTags, setTags } from '../../server/spaces/tags.ts';
import { spaceRow } from './spaces.ts';
import { userRow } from './users.ts';

// A search reads its results from an index in order and stops at the limit, so its cost does not depend on the size of
// the database. SQLite's query planner must choose such plans with and without statistics. For all other statements,
// test/support/query-plans.ts rules out scans and sorts.

let folder: string;
let engine: Engine;
/** Records the queries of searches. */
let db: Database;
/** The queries since the last reset. */
const queries: CompiledQuery[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'space-service-plan-'));
  const opened = await openSqlite(join(folder, 'plan.db'), {
    runsMaintenance: false,
  });
  db = new Kysely<Schema>({
    dialect: sqliteDialect(join(folder, 'plan.db')),
    log: ({ query }) => void queries.push(query),
  });
  const close = async () => {
    await db.destroy();
    await opened.close();
  };
  engine = { ...opened, close };
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

/** Returns the plan of each query of a search: its steps, from the outermost loop to the innermost. */
async function plansOf(search: () => Promise<unknown>): Promise<string[][]> {
  queries.length = 0;
  await search();
  using database = openForPlans();
  return queries.map((query) =>
    (
      database.handle.prepare(`EXPLAIN QUERY PLAN ${query.sql}`).all(query.parameters) as {
        detail: string;
      }[]
    ).map(({ detail }) => detail),
  );
}

function openForPlans() {
  const handle = new Sqlite(join(folder, 'plan.db'), { readonly: true });
  return { handle, [Symbol.dispose]: () => handle.close() };
}

/** Queries `db` directly, which records the statements. */
const view: SearchView = {
  get db() {
    return db;
  },
  mark: [1e9],
  changesSince: async () => () => false,
};
const avatars = avatarUrls('http://127.0.0.1/avatars');
const textSearchWith = (dictionary: Dictionary, query: string) => () =>
  searchText({ engine, avatars }, dictionary, { query, asTyped: false }, { limit: 20 }, view);
const textSearch = (query: string) => async () => {
  const dictionary = await readDictionary(engine);
  return textSearchWith(dictionary, query)();
};
const tagSearch = (name: string) => () => searchTag({ avatars }, name, { limit: 20 }, view);

/** The look-ups for one result. */
const resultLookups = [
  'SEARCH public_spaces USING INTEGER PRIMARY KEY (rowid=?)',
  'SEARCH users USING INTEGER PRIMARY KEY (rowid=?)',
];
/** FTS5's notation for a match (M) after a rowid (>), in the order of rowids (64). */
const indexWalk = ['SCAN word_index VIRTUAL TABLE INDEX 64:M1>'];
const nextDocument = ['SCAN word_index VIRTUAL TABLE INDEX 64:>'];

const equalTitle = [
  'SEARCH public_spaces USING COVERING INDEX public_spaces_by_title (title_key=? AND key>?)',
];

const states: [state: string, prepare: () => Promise<void>][] = [
  ['an empty database', async () => {}],
  ['a database of 3,000 spaces', fill],
  ['a database with statistics from ANALYZE', gatherStatistics],
];

describe.each(states)('The query planner, in %s,', (_, prepare) => {
  beforeAll(prepare);

  test.each(['nowhere2', 'common', 'common text', 'comnon', 'the common', '川町山', '山川町'])(
    'reads each rung of a search for "%s" from an index in the order of results',
    async (query) => {
      const [first, ...plans] = await plansOf(textSearch(query));
      expect(first).toEqual(equalTitle);
      expect(plans).toContainEqual(indexWalk);
      for (const plan of plans) {
        expect([equalTitle, indexWalk, resultLookups]).toContainEqual(plan);
      }
    },
  );

  test('reads each slice of a divided search from an index in the order of results', async () => {
    const terms = ['common', 'text'].map((term) => ({ term, documents: 1_000_000 }));
    const frequent = {
      version: 0,
      spaces: 1_000_000,
      minDocuments: 1,
      trie: await buildTrie(terms, 1),
    };
    const plans = await plansOf(textSearchWith(frequent, 'common text'));
    expect(plans).toContainEqual(nextDocument);
    for (const plan of plans) {
      expect([equalTitle, indexWalk, resultLookups, nextDocument]).toContainEqual(plan);
    }
  });

  test('reads a tag search from an index in the order of results', async () => {
    expect(await plansOf(tagSearch('everything'))).toEqual([
      [
        'SEARCH tags USING COVERING INDEX sqlite_autoindex_tags_1 (tag_key=?)',
        'SEARCH tag_hits USING PRIMARY KEY (tag_id=? AND key>?)',
        ...resultLookups,
      ],
    ]);
  });
});

async function fill(): Promise<void> {
  await engine.db.transaction().execute(async (trx) => {
    const users = await trx
      .insertInto('users')
      .values(Array.from({ length: 100 }, (_, i) => userRow(`u${i}`)))
      .returning('pk')
      .execute();
    for (let i = 0; i < 3_000; i += 1) {
      const { pk } = await trx
        .insertInto('spaces')
        .values({
          ...spaceRow(`s${i}`, users[i % 100]?.pk as number),
          title: i % 3 ? `Common no. ${i}` : `山川町 ${i}`,
          description: 'Common text.',
          participant_count: i % 57,
        })
        .returning('pk')
        .executeTakeFirstOrThrow();
      await setTags(trx, pk, parseTags(['everything', `own ${i}`]));
      await writerOf(engine).indexSpaces(trx, [pk]);
    }
  });
  await refreshDictionary(engine);
}

async function gatherStatistics(): Promise<void> {
  await sql`ANALYZE`.execute(engine.db);
}
