import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as api from '../../generated/sdk.gen.ts';
import { importRecords } from '../../server/exchange/import.ts';
import type { ExchangeRecord } from '../../server/exchange/records.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { waitForDictionary } from '../support/dictionary.ts';

interface Space {
  title: string;
  description?: string;
  tags?: string[];
  visibility?: 'public' | 'private';
  participants?: number;
  copies?: number;
}

/** Queries of one meaning, and the titles of what they find: `finds` all of it, in order, `among` some of it. */
interface Row {
  it: string;
  q?: string | string[];
  tag?: string | string[];
  finds?: string[];
  among?: string[];
  not?: string[];
  /** The other query that the response names, or `none`. */
  other?: string;
}

interface Group {
  about: string;
  queries: Row[];
}

const read = <T>(file: string): T =>
  parse(readFileSync(new URL(`finding/${file}`, import.meta.url), 'utf8'));

const spaces = read<Space[]>('spaces.yaml');
const typedGroups = read<Group[]>('queries.yaml');
const otherGroups = read<Group[]>('other-queries.yaml');

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
  await importRecords(app.context.engine, lines());
  await waitForDictionary(app);
});
afterAll(() => app[Symbol.asyncDispose]());

async function* lines() {
  for (const record of records()) yield JSON.stringify(record);
}

function* records(): Iterable<ExchangeRecord> {
  const most = Math.max(...spaces.map(({ participants = 1 }) => participants));
  const users = Array.from({ length: most }, (_, i) => `user-${i}`);
  for (const user_id of users) {
    yield { type: 'user', user_id, username: user_id, email: `${user_id}@example.com` };
  }
  const [creator_id = '', ...others] = users;
  for (const [i, { participants = 1, copies = 1, ...space }] of spaces.entries()) {
    for (let copy = 0; copy < copies; copy += 1) {
      const space_id = `space-${i}-${copy}`;
      yield { type: 'space', space_id, creator_id, ...space };
      for (const user_id of others.slice(0, participants - 1)) {
        yield { type: 'participant', space_id, user_id };
      }
    }
  }
}

interface Answer {
  titles: string[];
  other: string | null;
}

async function search(q: string, as_typed: boolean): Promise<Answer> {
  const { data, response } = await api.searchSpaces({
    client: app.client(),
    query: { q, as_typed, limit: 100 },
    throwOnError: true,
  });
  const other = response.headers.get('answered-query');
  return {
    titles: data.map(({ title }) => title),
    other: other === null ? null : decodeURIComponent(other),
  };
}

async function searchTag(tag: string): Promise<string[]> {
  const { data } = await api.searchSpacesByTag({
    client: app.client(),
    path: { tag },
    query: { limit: 100 },
    throwOnError: true,
  });
  return data.map(({ title }) => title);
}

const list = (texts: string | string[]) => [texts].flat();

const copies = new Map(
  spaces
    .filter(({ visibility }) => visibility !== 'private')
    .map(({ title, copies: count = 1 }) => [title, count]),
);
const withCopies = (titles: string[]) =>
  titles.flatMap((title) => new Array<string>(copies.get(title) ?? 1).fill(title));

function check(titles: string[], { finds, among = [], not = [] }: Row) {
  if (finds) return expect(titles).toEqual(withCopies(finds));
  expect(titles).toEqual(expect.arrayContaining(among));
  expect(titles.filter((title) => not.includes(title))).toEqual([]);
}

for (const { about, queries } of typedGroups) {
  describe(`${about}, as typed`, () => {
    for (const { q = [], tag = [], ...row } of queries) {
      describe(row.it, () => {
        for (const text of list(q)) {
          test(JSON.stringify(text), async () => {
            const { titles, other } = await search(text, true);
            check(titles, row);
            expect(other).toBeNull();
          });
        }
        for (const text of list(tag)) {
          test(JSON.stringify(text), async () => check(await searchTag(text), row));
        }
      });
    }
  });
}

for (const { about, queries } of otherGroups) {
  describe(about, () => {
    for (const { q = [], ...row } of queries) {
      describe(row.it, () => {
        for (const text of list(q)) {
          test(JSON.stringify(text), async () => {
            const { titles, other } = await search(text, false);
            check(titles, row);
            if (row.other !== undefined) expect(other ?? 'none').toBe(row.other);
          });
        }
      });
    }
  });
}

describe('The tables', () => {
  const rows = [typedGroups, otherGroups].flat().flatMap(({ queries }) => queries);

  test('say of every row what is typed, and either what it finds or what is among it', () => {
    const wrong = rows.filter(
      ({ q = [], tag = [], finds, among, not }) =>
        list(q).length + list(tag).length === 0 ||
        (finds === undefined ? among === undefined : (among ?? not) !== undefined),
    );
    expect(wrong).toEqual([]);
  });

  test('say of no tag and of no query as typed that it finds another query', () => {
    const typed = typedGroups.flatMap(({ queries }) => queries);
    expect(typed.filter(({ other }) => other !== undefined)).toEqual([]);
    expect(rows.filter(({ tag, other }) => tag !== undefined && other !== undefined)).toEqual([]);
    const others = otherGroups.flatMap(({ queries }) => queries);
    expect(others.filter(({ tag }) => tag !== undefined)).toEqual([]);
  });

  test('name only spaces that there are', () => {
    const titles = new Set(spaces.map(({ title }) => title));
    const named = rows.flatMap(({ finds, among, not }) => [finds, among, not].flat());
    expect(named.filter((title) => title !== undefined && !titles.has(title))).toEqual([]);
  });
});

test('Results for the query as typed come first, and alone with as_typed', async () => {
  const texts = [typedGroups, otherGroups]
    .flat()
    .flatMap(({ queries }) => queries.flatMap(({ q = [] }) => list(q)));
  for (const text of texts) {
    const typed = await search(text, true);
    const all = await search(text, false);
    expect([text, all.titles.slice(0, typed.titles.length)]).toEqual([text, typed.titles]);
    const isLonger = all.titles.length > typed.titles.length;
    expect([text, all.other !== null]).toEqual([text, isLonger]);
    if (isLonger)
      expect([text, typed.titles.length]).toEqual([text, Math.min(typed.titles.length, 9)]);
  }
}, 60_000);
