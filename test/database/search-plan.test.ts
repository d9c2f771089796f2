import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { type CompiledQuery, Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import type { Schema } from '../../server/database/schema.ts';
import { sqliteDialect } from '../../server/database/sqlite/connection.ts';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
import { indexSpace } from '../../server/search/documents.ts';
import { searchTag } from '../../server/search/tag.ts';
import { searchText } from '../../server/search/text.ts';
import { parseTags, setTags } from '../../server/spaces/tags.ts';

/**
 * A search is as fast in a large database as in a small one because it reads its results off an index in their order
 * and stops. The planner decides that, so these tests fix the index of each step, also for a database with statistics.
 * For all other statements, `test/support/query-plans.ts` rules out scans and sorts.
 */

let folder: string;
let engine: Engine;
/** What `engine` was asked since the last look. */
const asked: CompiledQuery[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'space-service-plan-'));
  const opened = await openSqlite(join(folder, 'plan.db'), {
    maintains: false,
    migrates: true,
  });
  const readDb = new Kysely<Schema>({
    dialect: sqliteDialect(join(folder, 'plan.db')),
    log: ({ query }) => void asked.push(query),
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

/** What SQLite means to do for each statement that the search asks: its steps, outermost loop first. */
async function plansOf(search: () => Promise<unknown>): Promise<string[][]> {
  asked.length = 0;
  await search();
  using database = openForPlans();
  return asked.map((query) =>
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

const text = (query: string) => () => searchText(engine, query, { limit: 20 }, '', 1e9);
const tag = (name: string) => () => searchTag(engine, name, { limit: 20 }, '', 1e9);

/** The one row of each table that belongs to a hit. */
const rest = [
  'SEARCH public_spaces USING INTEGER PRIMARY KEY (rowid=?)',
  'SEARCH users USING INTEGER PRIMARY KEY (rowid=?)',
];
/** FTS5's own signs: a match (M) beyond a rowid (>), in the order of rowids (64). */
const walk = 'SCAN word_index VIRTUAL TABLE INDEX 64:M1>';

const equalTitle = [
  'SEARCH public_spaces USING COVERING INDEX public_spaces_by_title (title_key=? AND key>?)',
  ...rest,
];
const matching = [walk, ...rest];

const states: [state: string, prepare: () => Promise<void>][] = [
  ['an empty database', async () => {}],
  ['a database of 3,000 spaces', fill],
  ['one whose statistics SQLite has gathered', () => gatherStatistics()],
];

describe.each(states)('In %s', (_, prepare) => {
  beforeAll(prepare);

  test('each tier of a text search walks its index in the order of results', async () => {
    expect(await plansOf(text('nowhere2'))).toEqual([equalTitle, matching, matching, [walk]]);
  });

  test('so does a search that verifies what the index finds', async () => {
    expect(await plansOf(text('川町山'))).toEqual([...[equalTitle, matching, matching], [walk]]);
  });

  test('so does a search by tag', async () => {
    expect(await plansOf(tag('everything'))).toEqual([
      [
        'SEARCH tags USING COVERING INDEX sqlite_autoindex_tags_1 (tag_key=?)',
        'SEARCH tag_hits USING PRIMARY KEY (tag=? AND key>?)',
        ...rest,
      ],
    ]);
  });

  test('a correction looks up what similar words have in common', async () => {
    const plans = await plansOf(text('comnon'));
    expect(plans[4]?.slice(0, 2)).toEqual([
      'SEARCH known_word_deletions USING PRIMARY KEY (deletion=?)',
      'SEARCH known_words USING INTEGER PRIMARY KEY (rowid=?)',
    ]);
  });
});

async function fill(): Promise<void> {
  const now = new Date().toISOString();
  await engine.db.transaction().execute(async (trx) => {
    const users = await trx
      .insertInto('users')
      .values(
        Array.from({ length: 100 }, (_, i) => ({
          ...{ user_id: `u${i}`, username: `u${i}`, email: `e${i}`, bio: '', picture: null },
          ...{ username_key: `u${i}`, username_skeleton: `u${i}`, email_key: `e${i}` },
          ...{ password_hash: null, is_verified: 0, created_at: now, updated_at: now },
        })),
      )
      .returning('id')
      .execute();
    for (let i = 0; i < 3_000; i += 1) {
      const { id } = await trx
        .insertInto('spaces')
        .values({
          ...{
            space_id: `s${i}`,
            creator: users[i % 100]?.id as number,
            title: i % 3 ? `Common no. ${i}` : `山川町 ${i}`,
          },
          ...{ description: 'Common text.', visibility: 'public', invitation_code: null },
          ...{ participant_count: i % 57, created_at: now },
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      await setTags(engine, trx, id, parseTags(['everything', `own ${i}`]));
      await indexSpace(engine, trx, id);
    }
  });
}

async function gatherStatistics(): Promise<void> {
  await sql`ANALYZE`.execute(engine.db);
}
