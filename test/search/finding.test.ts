import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as api from '../../generated/sdk.gen.ts';
import { importRecords } from '../../server/exchange/import.ts';
import type { ExchangeRecord } from '../../server/exchange/records.ts';
import { startApp, type TestApp } from '../support/app.ts';

interface Space {
  title: string;
  description?: string;
  tags?: string[];
  visibility?: 'public' | 'private';
  participants?: number;
}

/** Queries of one meaning, and the titles of what they find: `finds` all of it, in order, `among` some of it. */
interface Row {
  it: string;
  q?: string | string[];
  tag?: string | string[];
  finds?: string[];
  among?: string[];
  not?: string[];
}

const read = <T>(file: string): T =>
  parse(readFileSync(new URL(`finding/${file}`, import.meta.url), 'utf8'));

const spaces = read<Space[]>('spaces.yaml');
const groups = read<{ about: string; queries: Row[] }[]>('queries.yaml');

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
  await importRecords(app.context.engine, lines());
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
  for (const [i, { participants = 1, ...space }] of spaces.entries()) {
    const space_id = `space-${i}`;
    yield { type: 'space', space_id, creator_id, ...space };
    for (const user_id of others.slice(0, participants - 1)) {
      yield { type: 'participant', space_id, user_id };
    }
  }
}

const search = (q: string) =>
  api.searchSpaces({ client: app.client(), query: { q, limit: 100 }, throwOnError: true });

const searchTag = (tag: string) =>
  api.searchSpacesByTag({
    client: app.client(),
    path: { tag },
    query: { limit: 100 },
    throwOnError: true,
  });

const list = (texts: string | string[]) => [texts].flat();

async function check(
  answer: ReturnType<typeof search>,
  { finds, among = [], not = [] }: Pick<Row, 'finds' | 'among' | 'not'>,
) {
  const titles = (await answer).data.map(({ title }) => title);
  if (finds) return expect(titles).toEqual(finds);
  expect(titles).toEqual(expect.arrayContaining(among));
  expect(titles.filter((title) => not.includes(title))).toEqual([]);
}

for (const { about, queries } of groups) {
  describe(about, () => {
    for (const { it, q = [], tag = [], ...expected } of queries) {
      describe(it, () => {
        for (const text of list(q)) test(JSON.stringify(text), () => check(search(text), expected));
        for (const text of list(tag)) {
          test(JSON.stringify(text), () => check(searchTag(text), expected));
        }
      });
    }
  });
}

describe('The table', () => {
  const rows = groups.flatMap(({ queries }) => queries);

  test('says of every row what is typed, and either what it finds or what is among it', () => {
    const wrong = rows.filter(
      ({ q = [], tag = [], finds, among, not }) =>
        list(q).length + list(tag).length === 0 ||
        (finds === undefined ? among === undefined : (among ?? not) !== undefined),
    );
    expect(wrong).toEqual([]);
  });

  test('names only spaces that there are', () => {
    const titles = new Set(spaces.map(({ title }) => title));
    const named = rows.flatMap(({ finds, among, not }) => [finds, among, not].flat());
    expect(named.filter((title) => title !== undefined && !titles.has(title))).toEqual([]);
  });
});
