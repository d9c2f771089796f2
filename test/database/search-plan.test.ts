import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { type CompiledQuery, Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { avatarUrls } from '../../server/avatars/store.ts';
import type { Engine } from '../../server/database/engine.ts';
import type { Schema } from '../../server/database/schema.ts';
import { sqliteDialect } from '../../server/database/sqlite/dialect.ts';
import { openSqlite } from '../../server/database/sqlite/open.ts';
import { indexSpace } from '../../server/search/documents.ts';
import { searchTag } from '../../server/search/tag-search.ts';
import { searchText } from '../../server/search/text-search.ts';
import { parseTags, setTags } from '../../server/spaces/tags.ts';
import { userRow } from './users.ts';

// A search is as fast in a large database as in a small one, because it reads its results from an index in the order of
// results, and stops at the limit. SQLite's query planner must choose the plans that do so.

let folder: string;
let engine: Engine;
/** The queries since the last reset. */
const queries: CompiledQuery[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'space-service-plan-'));
  const opened = await openSqlite(join(folder, 'plan.db'), {
    runsMaintenance: false,
    migrate: true,
  });
  const readDb = new Kysely<Schema>({
    dialect: sqliteDialect(join(folder, 'plan.db')),
    log: ({ query }) => void queries.push(query),
  });
  const close = async () => {
    await readDb.destroy();
    await opened.close();
  };
  engine = { ...opened, readDb, close };
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

/** Returns the plan of each query that the search makes: its steps, from the outermost loop to the innermost. */
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

const avatars = avatarUrls('http://127.0.0.1/avatars');
const text = (query: string) => () => searchText({ engine, avatars }, query, { limit: 20 }, 1e9);
const tag = (name: string) => () => searchTag({ engine, avatars }, name, { limit: 20 }, 1e9);

/** The rows that belong to one hit. */
const rowsOfHit = [
  'SEARCH public_spaces USING INTEGER PRIMARY KEY (rowid=?)',
  'SEARCH users USING INTEGER PRIMARY KEY (rowid=?)',
];
/** FTS5's notation for a match (M) beyond a rowid (>), in the order of rowids (64). */
const indexWalk = 'SCAN word_index VIRTUAL TABLE INDEX 64:M1>';

const equalTitle = [
  'SEARCH public_spaces USING COVERING INDEX public_spaces_by_title (title_key=? AND key>?)',
  ...rowsOfHit,
];
const matching = [indexWalk, ...rowsOfHit];

const states: [state: string, prepare: () => Promise<void>][] = [
  ['an empty database', async () => {}],
  ['a database of 3,000 spaces', fill],
  ['a database with statistics from ANALYZE', gatherStatistics],
];

describe.each(states)('The query planner, in %s,', (_, prepare) => {
  beforeAll(prepare);

  test('reads each tier of a text search from an index in the order of results', async () => {
    expect(await plansOf(text('nowhere2'))).toEqual([equalTitle, matching, matching, [indexWalk]]);
  });

  test('does the same for a search that must verify its matches', async () => {
    expect(await plansOf(text('川町山'))).toEqual([equalTitle, matching, matching, [indexWalk]]);
  });

  test('does the same for a tag search', async () => {
    expect(await plansOf(tag('everything'))).toEqual([
      [
        'SEARCH tags USING COVERING INDEX sqlite_autoindex_tags_1 (tag_key=?)',
        'SEARCH tag_hits USING PRIMARY KEY (tag_id=? AND key>?)',
        ...rowsOfHit,
      ],
    ]);
  });

  test('looks up similar words by what they have in common', async () => {
    const plans = await plansOf(text('comnon'));
    expect(plans[4]?.slice(0, 2)).toEqual([
      'SEARCH known_word_deletions USING PRIMARY KEY (deletion=?)',
      'SEARCH known_words USING INTEGER PRIMARY KEY (rowid=?)',
    ]);
  });

  test('neither sorts rows nor scans a table', async () => {
    for (const search of [text('common'), text('common text'), text('山川町'), tag('everything')]) {
      for (const plan of await plansOf(search)) {
        expect(plan.join('\n')).not.toMatch(/B-TREE FOR ORDER BY|SCAN (?!word_index VIRTUAL)/);
      }
    }
  });
});

async function fill(): Promise<void> {
  const now = new Date().toISOString();
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
          space_id: `s${i}`,
          creator_pk: users[i % 100]?.pk as number,
          title: i % 3 ? `Common no. ${i}` : `山川町 ${i}`,
          description: 'Common text.',
          visibility: 'public',
          invitation_code: null,
          participant_count: i % 57,
          created_at: now,
        })
        .returning('pk')
        .executeTakeFirstOrThrow();
      await setTags(engine, trx, pk, parseTags(['everything', `own ${i}`]));
      await indexSpace(engine, trx, pk);
    }
  });
}

async function gatherStatistics(): Promise<void> {
  await sql`ANALYZE`.execute(engine.db);
}
