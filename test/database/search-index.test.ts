import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult } from '../../generated/types.gen.ts';
import type { Database } from '../../server/database/engine.ts';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
import { indexSpace } from '../../server/search/documents.ts';
import { queryWords } from '../../server/search/words.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { readPages } from '../support/pages.ts';

const USERS = 6;

const word = fc.constantFrom(
  ...['tea', 'Tea-time', 'astronomy', 'Astronomie', 'node.js', 'C++', 'l’eau', 'ЁЛКА', 'élan'],
  ...['東京都', '京都東京', 'ภาษาไทย', '한국어', 'हिन्दी', '🫖', '👩🏽‍💻', '2024', '"quoted"', '!'],
);
const words = (maxLength: number) => fc.array(word, { maxLength }).map((list) => list.join(' '));
const space = fc.record({
  title: words(4).map((text) => text || 'untitled'),
  description: words(8),
  visibility: fc.constantFrom('public' as const, 'public' as const, 'private' as const),
  tags: fc.array(fc.constantFrom('tea', 'Tea', '#TEA', 'c#', '東京', 'a/b', '100%', '🫖'), {
    maxLength: 4,
  }),
});
const user = fc.nat({ max: USERS - 1 });
/** Which of the spaces that there are, counted round. */
const place = fc.nat({ max: 999 });

const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('create' as const), user, space }) },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ kind: fc.constant('change' as const), place },
      space: fc.record(
        {
          title: words(4).map((text) => text || 'renamed'),
          description: words(8),
          visibility: fc.constantFrom('public' as const, 'private' as const),
          tags: fc.array(fc.constantFrom('tea', 'C#', 'a/b', 'new'), { maxLength: 4 }),
        },
        { requiredKeys: [] },
      ),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('join' as const), user, place }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('leave' as const), user, place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), place }) },
);

describe.each([1, 2])('After 150 operations of many kinds (seed %i)', (seed) => {
  test('the index is what it would be if it were made anew', async () => {
    await using app = await startApp();
    const users = await Promise.all(Array.from({ length: USERS }, () => app.register()));
    const operations = fc.sample(operation, { seed, numRuns: 150 });
    for (const [i, each] of operations.entries()) {
      await perform(app, users, each);
      if (i % 50 === 49) {
        const [first] = users.splice(0, 1, await app.register());
        await api.deleteAccount({ client: (first as TestUser).client, throwOnError: true });
      }
    }

    const { db } = app.context.engine;
    await expectTrueCounts(db);
    await expectNoUnusedTags(db);
    await expectFound(app, db);
    await using rebuilt = await openSqlite(join(app.context.config.dataDir, 'anew.db'), false);
    await copySpaces(db, rebuilt.db);
    await rebuilt.db.transaction().execute(async (trx) => {
      for (const { id } of await trx.selectFrom('spaces').select('id').execute()) {
        await indexSpace(rebuilt, trx, id);
      }
    });
    const is = indexOf(join(app.context.config.dataDir, 'space-service.sqlite'));
    const shouldBe = indexOf(join(app.context.config.dataDir, 'anew.db'));
    expect(shouldBe.word_index.length).toBeGreaterThan(50);
    expect(shouldBe.known_word_deletions.length).toBeGreaterThan(20);
    expect(shouldBe.tag_hits.length).toBeGreaterThan(5);
    expect(is).toEqual(shouldBe);
  });
});

type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Does what the operation says, if there is a space to do it to. What may not be done changes nothing. */
async function perform(app: TestApp, users: TestUser[], operation: Operation): Promise<void> {
  const by = (index: number) => (users[index] as TestUser).client;
  if (operation.kind === 'create') {
    await api.createSpace({
      client: by(operation.user),
      body: operation.space,
      throwOnError: true,
    });
    return;
  }
  const spaces = await app.context.engine.db
    .selectFrom('spaces')
    .innerJoin('users', 'users.id', 'spaces.creator')
    .select(['space_id', 'invitation_code', 'user_id as creator'])
    .orderBy('spaces.id')
    .execute();
  const found = spaces[operation.place % spaces.length];
  if (!found) return;
  const { creator, invitation_code, ...path } = found;
  const client = by(users.findIndex(({ userId }) => userId === creator));
  switch (operation.kind) {
    case 'change':
      if (Object.keys(operation.space).length > 0)
        await api.updateSpace({ client, path, body: operation.space, throwOnError: true });
      break;
    case 'delete':
      await api.deleteSpace({ client, path, throwOnError: true });
      break;
    case 'join':
      await api.joinSpace({
        ...{ client: by(operation.user), path, throwOnError: true },
        body: invitation_code === null ? {} : { invitation_code },
      });
      break;
    case 'leave': {
      const { response } = await api.leaveSpace({ client: by(operation.user), path });
      expect([200, 404, 409]).toContain(response?.status);
      break;
    }
  }
}

async function expectTrueCounts(db: Database) {
  const rows = await db
    .selectFrom('spaces')
    .select(['space_id', 'participant_count'])
    .select((spaces) =>
      spaces
        .selectFrom('participations')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('space', '=', 'spaces.id')
        .where('left_at', 'is', null)
        .as('counted'),
    )
    .execute();
  expect(rows.length).toBeGreaterThan(10);
  for (const row of rows) expect(row).toMatchObject({ counted: row.participant_count });
}

async function expectNoUnusedTags(db: Database) {
  const rows = await db
    .selectFrom('tags')
    .leftJoin('space_tags', 'space_tags.tag', 'tags.id')
    .select(['tag_key', 'space'])
    .execute();
  expect(rows.length).toBeGreaterThan(3);
  expect(rows.filter(({ space }) => space === null)).toEqual([]);
}

/** Every public space is found by its own title, and no private one by anything. */
async function expectFound(app: TestApp, db: Database) {
  const spaces = await db
    .selectFrom('spaces')
    .select(['space_id', 'title', 'visibility'])
    .execute();
  const searched = new Map<string, Set<string>>();
  for (const { space_id, title, visibility } of spaces) {
    if (queryWords(title).length === 0) continue;
    let ids = searched.get(title);
    if (!ids) {
      const q = new URLSearchParams({ q: title, limit: '100' });
      const pages = await readPages<SearchResult>(app, `/api/spaces/search?${q}`);
      ids = new Set(pages.flat().map((each) => each.space_id));
      searched.set(title, ids);
    }
    expect(ids.has(space_id)).toBe(visibility === 'public');
  }
}

/** Copies what an index is made of. */
async function copySpaces(from: Database, to: Database) {
  for (const table of ['users', 'spaces', 'tags', 'space_tags'] as const) {
    for (const row of await from.selectFrom(table).selectAll().execute()) {
      await to.insertInto(table).values(row).execute();
    }
  }
}

/** All that an index holds, in an order of its own; the word index as FTS5's vocabulary table shows it. */
function indexOf(file: string) {
  const sqlite = new Sqlite(file, { timeout: 5_000 });
  try {
    const rows = (select: string) => sqlite.prepare(select).raw().all();
    sqlite.exec(`
      INSERT INTO word_index (word_index, rank) VALUES ('integrity-check', 0);
      CREATE VIRTUAL TABLE temp.held USING fts5vocab(main, word_index, instance)`);
    return {
      public_spaces: rows(
        'SELECT key, space, creator, participant_count, title_key, head, tail FROM public_spaces ORDER BY key',
      ),
      tag_hits: rows('SELECT * FROM tag_hits ORDER BY tag, key'),
      word_index: rows('SELECT term, doc FROM temp.held ORDER BY doc, term'),
      known_words: rows('SELECT word, spaces FROM known_words ORDER BY word'),
      known_word_deletions: rows(
        `SELECT deletion, known_words.word
         FROM known_word_deletions JOIN known_words ON known_words.id = known_word_deletions.word
         ORDER BY deletion, known_words.word`,
      ),
    };
  } finally {
    sqlite.close();
  }
}
