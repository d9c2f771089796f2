import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { setPassword } from '../../server/account-lifecycle/password-reset.ts';
import { importRecords } from '../../server/import-export/import.ts';
import { isPostgresql } from '../support/databases.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { toLines } from '../support/ndjson.ts';
import { useApp } from '../support/use-app.ts';
import { type EmptyDatabases, prepareDatabases } from './databases.ts';
import { ada, bob, bread, joined, validRecords } from './records.ts';

let databases: EmptyDatabases;
beforeAll(async () => {
  databases = await prepareDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

describe('imported data', () => {
  const app = useApp();
  beforeAll(async () => {
    await importRecords(app.context.engine, toLines(validRecords));
    await waitForDictionary(app);
  });

  test('is found by text, by tag and with a typing error', async () => {
    for (const path of [
      '/api/spaces/search?q=bread',
      '/api/spaces/search?q=braed',
      '/api/spaces/tag/baking',
    ]) {
      const results = await (await app.fetch(path)).json();
      expect(results).toMatchObject([
        { space_id: 'bread', participant_count: 2, creator: { username: 'ada' } },
      ]);
    }
  });

  // On PostgreSQL, copies of the index add the spaces in steps.
  test.skipIf(isPostgresql)(
    'is indexed even if it is larger than the batches of the import and of the search index',
    async () => {
      const spaces = 10_050;
      function* records() {
        yield ada;
        yield bob;
        for (let i = 0; i < spaces; i += 1) yield { ...bread, space_id: `s${i}`, tags: [] };
        // In a later batch than the space, whose rank it changes.
        yield { ...joined, space_id: 's0' };
      }
      await using engine = await databases.open();
      const report = await importRecords(engine, toLines(records()));
      expect(report).toEqual({ added: spaces + 3, unchanged: 0, bad: [] });

      const documents = new Map<string, number>();
      for await (const each of engine.wordIndex.terms(engine.db)) {
        documents.set(each.term, each.documents);
      }
      expect(documents.get('bread')).toBe(spaces);
      const indexed = engine.db
        .selectFrom('public_spaces')
        .innerJoin('spaces', 'spaces.pk', 'space_pk')
        .select(['space_id', 'public_spaces.participant_count'])
        .orderBy('key');
      const rows = await indexed.execute();
      expect(rows).toHaveLength(spaces);
      expect(rows[0]).toEqual({ space_id: 's0', participant_count: 2 });
      expect(rows[1]).toEqual({ space_id: `s${spaces - 1}`, participant_count: 1 });
      const waiting = engine.db.selectFrom('spaces_to_index').selectAll();
      expect(await waiting.execute()).toEqual([]);
    },
  );

  test('is included in the statistics', async () => {
    await setPassword(app.context, 'bob@example.com', 'marmalade on toast');
    const { data } = await api.login({
      client: app.client(),
      body: { email: 'bob@example.com', password: 'marmalade on toast' },
      throwOnError: true,
    });
    const profile = await api.getProfile({
      client: app.client(data.access_token),
      throwOnError: true,
    });
    expect(profile.data.stats).toEqual({
      spaces_created: 0,
      spaces_participated: 1,
      total_words_contributed: 2,
      total_appreciations_received: 1,
    });
  });

  test('does not allow logins to accounts imported without a password', async () => {
    const { response } = await api.login({
      client: app.client(),
      body: { email: 'ada@example.com', password: 'anything at all' },
    });
    expect(response?.status).toBe(401);
  });
});
