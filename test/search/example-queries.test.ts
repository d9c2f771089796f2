import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as api from '../../generated/sdk.gen.ts';
import { importRecords } from '../../server/import-export/import.ts';
import type { DataRecord } from '../../server/import-export/records.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { toLines } from '../support/ndjson.ts';
import { useApp } from '../support/use-app.ts';
import { exampleSpaces } from './example-queries/spaces.ts';

/** Queries with the same meaning, and the titles of their results. */
interface Row {
  it: string;
  q?: string | string[];
  tag?: string | string[];
  /** All results, in order. */
  finds?: string[];
  /** Some of the results, in any order. */
  among?: string[];
  /** Titles that must not be among the results. */
  not?: string[];
  /** The value of Answered-Query, or `none`. */
  other?: string;
}

interface Group {
  about: string;
  queries: Row[];
}

const read = <T>(file: string): T =>
  parse(readFileSync(new URL(`example-queries/${file}`, import.meta.url), 'utf8'));

const typedGroups = read<Group[]>('queries.yaml');
const otherGroups = read<Group[]>('other-queries.yaml');

const app = useApp();

beforeAll(async () => {
  await importRecords(app.context.engine, toLines(records()));
  await waitForDictionary(app);
});

function* records(): Iterable<DataRecord> {
  const maxParticipants = Math.max(...exampleSpaces.map(({ participants = 1 }) => participants));
  const users = Array.from({ length: maxParticipants }, (_, i) => `user-${i}`);
  for (const user_id of users) {
    yield { type: 'user', user_id, username: user_id, email: `${user_id}@example.com` };
  }
  const [creator_id = '', ...others] = users;
  for (const [i, { participants = 1, copies = 1, ...space }] of exampleSpaces.entries()) {
    for (let copy = 0; copy < copies; copy += 1) {
      const space_id = `space-${i}-${copy}`;
      yield { type: 'space', space_id, creator_id, ...space };
      for (const user_id of others.slice(0, participants - 1)) {
        yield { type: 'participant', space_id, user_id };
      }
    }
  }
}

interface Outcome {
  titles: string[];
  other: string | null;
}

async function search(q: string, as_typed: boolean): Promise<Outcome> {
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

const toArray = (texts: string | string[]) => [texts].flat();

const copies = new Map(
  exampleSpaces
    .filter(({ visibility }) => visibility !== 'private')
    .map(({ title, copies: count = 1 }) => [title, count]),
);
const withCopies = (titles: string[]) =>
  titles.flatMap((title) => new Array<string>(copies.get(title) ?? 1).fill(title));

function expectTitles(titles: string[], { finds, among = [], not = [] }: Row) {
  if (finds) return expect(titles).toEqual(withCopies(finds));
  expect(titles).toEqual(expect.arrayContaining(among));
  expect(titles.filter((title) => not.includes(title))).toEqual([]);
}

for (const { about, queries } of typedGroups) {
  describe(`${about}, as typed`, () => {
    for (const { q = [], tag = [], ...row } of queries) {
      describe(row.it, () => {
        for (const text of toArray(q)) {
          test(JSON.stringify(text), async () => {
            const { titles, other } = await search(text, true);
            expectTitles(titles, row);
            expect(other).toBeNull();
          });
        }
        for (const text of toArray(tag)) {
          test(JSON.stringify(text), async () => expectTitles(await searchTag(text), row));
        }
      });
    }
  });
}

for (const { about, queries } of otherGroups) {
  describe(about, () => {
    for (const { q = [], ...row } of queries) {
      describe(row.it, () => {
        for (const text of toArray(q)) {
          test(JSON.stringify(text), async () => {
            const { titles, other } = await search(text, false);
            expectTitles(titles, row);
            if (row.other !== undefined) expect(other ?? 'none').toBe(row.other);
          });
        }
      });
    }
  });
}

describe('The tables', () => {
  const rows = [typedGroups, otherGroups].flat().flatMap(({ queries }) => queries);

  test('have a query or tag in every row, and either `finds` or `among`', () => {
    const wrong = rows.filter(
      ({ q = [], tag = [], finds, among, not }) =>
        toArray(q).length + toArray(tag).length === 0 ||
        (finds === undefined ? among === undefined : (among ?? not) !== undefined),
    );
    expect(wrong).toEqual([]);
  });

  test('have `other` only in rows of other-queries.yaml, and tags only in queries.yaml', () => {
    const typed = typedGroups.flatMap(({ queries }) => queries);
    expect(typed.filter(({ other }) => other !== undefined)).toEqual([]);
    const others = otherGroups.flatMap(({ queries }) => queries);
    expect(others.filter(({ tag }) => tag !== undefined)).toEqual([]);
  });

  test('contain only titles of existing spaces', () => {
    const titles = new Set(exampleSpaces.map(({ title }) => title));
    const named = rows.flatMap(({ finds, among, not }) => [finds, among, not].flat());
    expect(named.filter((title) => title !== undefined && !titles.has(title))).toEqual([]);
  });
});
