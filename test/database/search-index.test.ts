import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult } from '../../generated/types.gen.ts';
import type { Database } from '../../server/database/engine.ts';
import { isLiveSpace } from '../../server/database/erased-rows.ts';
import { transact } from '../../server/database/transaction.ts';
import { updateSearchIndex } from '../../server/search/rebuild.ts';
import { hideSpaces } from '../../server/spaces/space-deletion.ts';
import { queryWords } from '../../server/text/words/query.ts';
import { startApp, type TestApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { assertIndexed, assertIntact, databaseFile, withDatabase } from '../support/integrity.ts';
import { readPages } from '../support/pages.ts';
import { createSpace } from '../support/spaces.ts';

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
/** Selects an existing space: its index modulo the number of spaces. */
const choice = fc.nat({ max: 999 });

const changedFields = {
  title: words(4).map((text) => text || 'renamed'),
  description: words(8),
  visibility: fc.constantFrom('public' as const, 'private' as const),
  tags: fc.array(fc.constantFrom('tea', 'C#', 'a/b', 'new'), { maxLength: 4 }),
};
/** Changes that leave the rest of a space as it is, so that nothing else updates its index. */
const oneField = (['title', 'description', 'visibility', 'tags'] as const).map((name) =>
  fc.record({ [name]: changedFields[name] }),
);

const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('create' as const), user, space }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      choice,
      space: fc.oneof(fc.record(changedFields, { requiredKeys: [] }), ...oneField),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('join' as const), user, choice }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('leave' as const), user, choice }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), choice }) },
);

describe('The search index after 150 random operations', () => {
  test('matches a full rebuild', async () => {
    await using app = await startApp();
    const users = await Promise.all(Array.from({ length: USERS }, () => app.register()));
    // With this seed, the test fails if a change of tags, or leaving a space, does not change the index.
    const operations = fc.sample(operation, { seed: 10, numRuns: 150 });
    for (const [i, each] of operations.entries()) {
      await perform(app, users, each);
      if (i % 50 === 49) {
        const [first] = users.splice(0, 1, await app.register());
        await api.deleteAccount({ client: (first as TestUser).client, throwOnError: true });
      }
    }

    const { config, engine } = app.context;
    await expectFound(app, engine.db);
    assertIntact(config.dataDir);
    await waitForDictionary(app);
    const rows = await assertIndexed(config.dataDir);
    expect(rows.word_index).toBeGreaterThan(50);
    expect(rows.dictionary).toBeGreaterThan(50);
    expect(rows.tag_hits).toBeGreaterThan(5);
  });
});

describe('A search index of an older version', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'space-service-index-'));
  });
  afterEach(() => rm(dataDir, { recursive: true }));

  const change = (statements: string) =>
    withDatabase(databaseFile(dataDir), (sqlite) => sqlite.exec(statements));
  const readState = () =>
    withDatabase(databaseFile(dataDir), (sqlite) => ({
      version: sqlite.prepare('SELECT version FROM search_index').pluck().get(),
      revisions: sqlite.prepare('SELECT revision FROM public_spaces ORDER BY key').pluck().all(),
      waiting: sqlite.prepare('SELECT count(*) FROM spaces_to_index').pluck().get(),
    }));
  const queries = ['tea', 'node', 'astronomi', 'astronmy', '京都', 'c++ tea', '👩‍💻', 'elan'];
  const readResults = async (app: TestApp) => {
    await waitForDictionary(app);
    const paths = [
      ...queries.map((q) => `/api/spaces/search?limit=2&${new URLSearchParams({ q })}`),
      ...['tea', 'c%23', 'a%2Fb'].map((tag) => `/api/spaces/tag/${tag}?limit=2`),
    ];
    return Promise.all(paths.map((path) => readPages<SearchResult>(app, path)));
  };

  test('is rebuilt once, at the next start, and returns the same results', async () => {
    const settings = { DATA_DIR: dataDir, PUBLIC_URL: 'https://example.org' };
    let before: SearchResult[][][];
    {
      await using app = await startApp(settings);
      const users = await Promise.all(Array.from({ length: USERS }, () => app.register()));
      for (const each of fc.sample(operation, { seed: 3, numRuns: 80 })) {
        await perform(app, users, each);
      }
      before = await readResults(app);
      expect(before.flat(2).length).toBeGreaterThan(50);
    }
    const { version, revisions } = readState();
    {
      await using app = await startApp(settings);
      expect(await readResults(app)).toEqual(before);
    }
    expect(readState()).toEqual({ version, revisions, waiting: 0 });

    change(`
      UPDATE search_index SET version = 0;
      INSERT INTO word_index (word_index) VALUES ('delete-all');
      INSERT INTO word_index (rowid, words) VALUES (5, 'tea obsolete');
      DELETE FROM tag_hits WHERE key % 2 = 0;
      DELETE FROM public_spaces WHERE space_pk % 3 = 0;
      UPDATE public_spaces SET title_key = 'tea', tail = ',"tags":[]}';
      INSERT INTO spaces_to_index VALUES (1, 7), (999999, NULL);`);
    {
      await using app = await startApp(settings);
      expect(await readResults(app)).toEqual(before);
    }
    expect(readState()).toMatchObject({ version, waiting: 0 });
    assertIntact(dataDir);
    await assertIndexed(dataDir);
  });
});

type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Performs an operation. Does nothing if it needs a space and none exists. */
async function perform(app: TestApp, users: TestUser[], operation: Operation): Promise<void> {
  const clientOf = (index: number) => (users[index] as TestUser).client;
  if (operation.kind === 'create') {
    await api.createSpace({
      client: clientOf(operation.user),
      body: operation.space,
      throwOnError: true,
    });
    return;
  }
  const spaces = await app.context.engine.db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .select(['space_id', 'invitation_code', 'user_id as creator'])
    // Rows of deleted accounts can remain for some seconds.
    .where(isLiveSpace('spaces.pk'))
    .orderBy('spaces.pk')
    .execute();
  const found = spaces[operation.choice % spaces.length];
  if (!found) return;
  const { creator, invitation_code, ...path } = found;
  const client = clientOf(users.findIndex(({ userId }) => userId === creator));
  switch (operation.kind) {
    case 'change':
      if (Object.keys(operation.space).length > 0) {
        await api.updateSpace({ client, path, body: operation.space, throwOnError: true });
      }
      break;
    case 'delete':
      await api.deleteSpace({ client, path, throwOnError: true });
      break;
    case 'join':
      await api.joinSpace({
        client: clientOf(operation.user),
        path,
        throwOnError: true,
        body: invitation_code === null ? {} : { invitation_code },
      });
      break;
    case 'leave': {
      const { response } = await api.leaveSpace({ client: clientOf(operation.user), path });
      expect([200, 404, 409]).toContain(response?.status);
      break;
    }
  }
}

/** Expects that a search for a space's title finds the space if and only if it is public. */
async function expectFound(app: TestApp, db: Database) {
  const spaces = await db
    .selectFrom('spaces')
    .select(['space_id', 'title', 'visibility'])
    .where(isLiveSpace('pk'))
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

test('A rebuild of the search index omits deleted spaces whose rows remain', async () => {
  await using app = await startApp();
  const { client } = await app.register();
  await createSpace({ client }, { title: 'Kept vanilla' });
  const deleted = await createSpace({ client }, { title: 'Deleted vanilla' });
  const { engine } = app.context;
  await transact(engine, async (trx) => {
    const { pk } = await trx
      .selectFrom('spaces')
      .select('pk')
      .where('space_id', '=', deleted.space_id)
      .executeTakeFirstOrThrow();
    await hideSpaces(engine, trx, 'pk', pk);
    await trx.updateTable('search_index').set({ version: 0 }).execute();
  });
  await updateSearchIndex(engine);
  const { data } = await api.searchSpaces({ client, query: { q: 'vanilla' }, throwOnError: true });
  expect(data.map(({ title }) => title)).toEqual(['Kept vanilla']);
});
