import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Client } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { SpaceUpdate } from '../../generated/types.gen.ts';
import { restoreAccount, suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import type { SpaceRecord } from '../../server/import-export/spaces.ts';
import { readDictionary } from '../../server/search/dictionary/dictionary.ts';
import { biggestTags, makeQueries, searchPath, tagPath } from '../bench/queries.ts';
import { scaleDictionary } from '../search/generated-index.ts';
import { randomIntegers } from '../support/random.ts';
import { comparePages, itemsOf } from './pages.ts';
import { fuzzedQueries, fuzzedTags, handwrittenQueries, handwrittenTags } from './queries.ts';
import { spacesToSearch } from './records.ts';
import { openSessions, refreshDictionaries, type Services, startServices } from './services.ts';

// Some tests compare more than a thousand lists, which takes minutes on a busy machine.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const SPACES = 3_000;
const QUERIES_PER_CLASS = 25;
const FUZZED_QUERIES = 1_000;

const now = new Date();
const records = spacesToSearch(SPACES, now);
const spaces = records.filter((record) => record.type === 'space');
const fuzzed = fuzzedQueries(spaces, FUZZED_QUERIES, 11);
const random = randomIntegers(12);
let services: Services;

beforeAll(async () => {
  services = await startServices(records);
});
afterAll(() => services[Symbol.asyncDispose]());

/** What a query has found. Tests check that their queries find enough for the comparison to mean something. */
interface Results {
  items: number;
  pages: number;
  isOtherQuery: boolean;
}

/** Changes a space in one of several ways. */
async function changeSpace(
  i: number,
  { space_id = '', title, description = '', tags = [] }: SpaceRecord,
  creator: Client,
  users: readonly Client[],
): Promise<void> {
  const path = { space_id };
  const update = (body: SpaceUpdate) =>
    api.updateSpace({ client: creator, path, body, throwOnError: true });
  switch (i % 6) {
    case 0:
      await update({ title: `${description.slice(0, 50)} x` });
      break;
    case 1:
      await update({ description: title, tags: [] });
      break;
    case 2:
      await update({ tags: tags.toReversed() });
      break;
    case 3:
      await api.deleteSpace({ client: creator, path, throwOnError: true });
      break;
    case 4:
      await update({ visibility: 'private' });
      if (i % 4 === 0) await update({ visibility: 'public' });
      break;
    default:
      // Some users cannot join or leave.
      for (const client of users) {
        if (i % 4 === 1) await api.joinSpace({ client, path, body: {} });
        else await api.leaveSpace({ client, path });
      }
  }
}

/** Compares all pages of a list. Short lists are also read in small pages. */
async function compareList(path: string, query: Record<string, string> = {}): Promise<Results> {
  const request = (limit: number) => {
    const parameters = new URLSearchParams({ ...query, limit: String(limit) });
    return comparePages(services, `${path}${path.includes('?') ? '&' : '?'}${parameters}`);
  };
  const pages = await request(100);
  const items = itemsOf(pages).length;
  if (items > 0 && items < 100) await request(1 + random(items < 20 ? 5 : 20));
  const isOtherQuery = pages[0]?.answeredQuery !== undefined;
  return { items, pages: pages.length, isOtherQuery };
}

async function compareQueries(queries: readonly string[], parameters: Record<string, string> = {}) {
  const results: Results[] = [];
  for (const query of queries) results.push(await compareList(searchPath(query), parameters));
  return results;
}

async function compareTags(tags: readonly string[]) {
  const results: Results[] = [];
  for (const tag of tags) results.push(await compareList(tagPath(tag)));
  return results;
}

const share = (results: readonly Results[], has: (results: Results) => boolean) =>
  results.filter(has).length / results.length;

async function expectEqualDictionaries(): Promise<void> {
  const expected = await readDictionary(services.sqlite.context.engine.searchIndex);
  expect(await readDictionary(services.postgresql.context.engine.searchIndex)).toEqual({
    ...expected,
    version: expect.any(Number),
  });
}

test('SQLite and PostgreSQL have the same dictionary', expectEqualDictionaries);

/** Makes the services search as if every space existed `factor` times. */
async function scaleDictionaries(factor: number): Promise<void> {
  for (const { context } of [services.sqlite, services.postgresql]) {
    const dictionary = await readDictionary(context.engine.searchIndex);
    const value = Promise.resolve(scaleDictionary(dictionary, factor));
    context.search.dictionary = { version: dictionary.version, value };
    context.search.responses.clear();
  }
}

describe('SQLite and PostgreSQL return the same pages', () => {
  test.each(Object.entries(makeQueries(SPACES)))(
    'for queries of the class: %s',
    async (name, queries) => {
      const results = await compareQueries(queries.slice(0, QUERIES_PER_CLASS));
      expect(share(results, ({ items }) => items > 0)).toBe(name === 'no match' ? 0 : 1);
    },
  );

  test('for fuzzed queries', async () => {
    const results = await compareQueries(fuzzed);
    expect(share(results, ({ items }) => items > 0)).toBeGreaterThan(0.6);
    expect(share(results, ({ pages }) => pages > 1)).toBeGreaterThan(0.1);
    expect(share(results, ({ isOtherQuery }) => isOtherQuery)).toBeGreaterThan(0.1);
  });

  test('for fuzzed queries as typed', async () => {
    const results = await compareQueries(fuzzed.slice(0, 150), { as_typed: 'true' });
    expect(share(results, ({ items }) => items > 0)).toBeGreaterThan(0.3);
    expect(share(results, ({ isOtherQuery }) => isOtherQuery)).toBe(0);
  });

  test('for handwritten queries', async () => {
    const results = await compareQueries(handwrittenQueries());
    expect(share(results, ({ items }) => items > 0)).toBeGreaterThan(0.6);
  });

  test('for tags', async () => {
    const tags = [...biggestTags, ...fuzzedTags(spaces, 200, 13), ...handwrittenTags()];
    const results = await compareTags(tags);
    expect(share(results, ({ items }) => items > 0)).toBeGreaterThan(0.5);
    expect(results[0]?.pages).toBeGreaterThan(1);
  });

  // The dictionary decides how a search is divided, and what it may cost.
  test.each([10, 100, 1_000])('if all words are %i times as frequent', async (factor) => {
    await scaleDictionaries(factor);
    const common = makeQueries(SPACES)['three common words'].slice(0, 20);
    const results = await compareQueries([...common, ...fuzzed.slice(0, 60)]);
    expect(share(results, ({ items }) => items > 0)).toBeGreaterThan(0.7);
    await scaleDictionaries(1);
  });

  test('after changes of spaces and users', async () => {
    const creators = [...new Set(spaces.map(({ creator_id }) => creator_id))].slice(0, 20);
    const tokens = new Map<string, string>();
    for (const userId of creators) {
      tokens.set(userId, await openSessions(services, userId, { count: 1, time: now }));
    }
    const changed = spaces.filter(({ creator_id }) => tokens.has(creator_id)).slice(0, 120);
    for (const { context, client } of [services.sqlite, services.postgresql]) {
      const clients = creators.map((userId) => client(tokens.get(userId)));
      for (const [i, space] of changed.entries()) {
        const creator = client(tokens.get(space.creator_id));
        await changeSpace(i, space, creator, clients);
      }
      await suspendAccount(context.engine, creators[0] as string);
      await suspendAccount(context.engine, creators[1] as string);
      await restoreAccount(context.engine, creators[1] as string);
      const leaving = client(tokens.get(creators[2] as string));
      await api.deleteAccount({ client: leaving, throwOnError: true });
      const renamed = client(tokens.get(creators[3] as string));
      await api.changeUsername({
        client: renamed,
        body: { username: 'renamed' },
        throwOnError: true,
      });
    }
    await refreshDictionaries(services);
    await expectEqualDictionaries();
    const results = await compareQueries(fuzzedQueries(spaces, 120, 14));
    expect(share(results, ({ items }) => items > 0)).toBeGreaterThan(0.6);
    const touched = changed.map(({ title }) => title).slice(0, 60);
    await compareQueries(touched);
    await compareTags(fuzzedTags(changed, 50, 15));
  });
});
