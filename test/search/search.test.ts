import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Problem, SearchResult, Space, SpaceUpdate } from '../../generated/types.gen.ts';
import { uploadAvatar } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { nextPage } from '../support/pages.ts';
import { createSpace, joinSpace, leaveSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
const others: TestUser[] = [];

beforeAll(async () => {
  ann = await app.register('ann');
  // One by one, because passwords of many concurrent registrations wait too long on a busy machine.
  for (let i = 0; i < 15; i += 1) others.push(await app.register());
});

const titles = (results: Pick<SearchResult, 'title'>[]) => results.map(({ title }) => title);

const search = async (q: string, limit = 100) =>
  (await api.searchSpaces({ client: app.client(), query: { q, limit }, throwOnError: true })).data;

const searchTag = async (tag: string) =>
  (await api.searchSpacesByTag({ client: app.client(), path: { tag }, throwOnError: true })).data;

const found = async (q: string) => titles(await search(q));

const foundAsTyped = async (q: string) => {
  const query = { q, as_typed: true, limit: 100 };
  const { data } = await api.searchSpaces({ client: app.client(), query, throwOnError: true });
  return titles(data);
};

const tagged = async (tag: string) => titles(await searchTag(tag));

const change = ({ space_id }: Space, body: SpaceUpdate) =>
  api.updateSpace({ client: ann.client, path: { space_id }, body, throwOnError: true });

/** Makes users join or leave until the space has this many participants, including its creator. */
const setParticipants = async (space: Space, participants: number) => {
  for (const [i, user] of others.entries()) {
    await (i < participants - 1 ? joinSpace(user, space) : leaveSpace(user, space));
  }
};

describe('A search result', () => {
  test('has exactly the fields of SearchResult', async () => {
    const space = await createSpace(ann, {
      title: 'Kombucha "to go" \\ here',
      description: 'One\nline, {"a": 1} and\u2028another </script>.',
      tags: ['fermented', 'Rosé'],
    });
    const { created_at, invitation_code, participation, posting, ...result } = space;
    expect(await search('kombucha')).toEqual([result]);
    expect(await searchTag('fermented')).toEqual([result]);
  });

  test('has the same creator object as the space', async () => {
    const creator = await app.register('zephyr_creator.1');
    const { space_id } = await createSpace(creator, { title: 'Zephyr', tags: ['zephyr'] });
    const { client } = creator;
    for (const hasAvatar of [false, true]) {
      if (hasAvatar) await uploadAvatar(creator);
      const space = await api.getSpace({ client, path: { space_id }, throwOnError: true });
      for (const [result] of [await search('zephyr'), await searchTag('zephyr')]) {
        expect(JSON.stringify(result?.creator)).toBe(JSON.stringify(space.data.creator));
      }
    }
  });

  test('has the current participant count', async () => {
    const space = await createSpace(ann, { title: 'Headcount', tags: ['headcount'] });
    for (const count of [2, 5, 8, 3, 1]) {
      await setParticipants(space, count);
      const results = [...(await search('headcount')), ...(await searchTag('headcount'))];
      expect(results.map(({ participant_count }) => participant_count)).toEqual([count, count]);
    }
  });

  test('is the same with a token, without a token and with an invalid token', async () => {
    await createSpace(ann, { title: 'Openness', tags: ['openness'] });
    for (const path of ['/api/spaces/search?q=openness', '/api/spaces/tag/openness']) {
      const [first, ...rest] = await Promise.all(
        [{}, ann.headers, { authorization: 'Bearer nonsense' }].map(async (headers) =>
          (await app.fetch(path, { headers })).text(),
        ),
      );
      expect(JSON.parse(first as string)).toHaveLength(1);
      for (const body of rest) expect(body).toBe(first);
    }
  });
});

describe('q', () => {
  beforeAll(async () => {
    for (const title of ['100% a-b "AND" (NEAR', 'foo_bar* OR not']) {
      await createSpace(ann, { title });
    }
  });

  test.each([
    ['it is missing', '', 'is missing'],
    ['its name is in upper case', '?Q=tea', 'is missing'],
    ['it is in array notation', '?q[]=tea', 'is missing'],
    ['it is repeated', '?q=tea&q=coffee', 'must be a string'],
    ['it has 201 code points', `?q=${'a'.repeat(201)}`, 'must have at most 200 characters'],
  ])('is rejected if %s', async (_, query, message) => {
    const response = await app.fetch(`/api/spaces/search${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 'invalid_request',
      errors: [{ in: 'query', name: 'q', message }],
    });
  });

  test('may have 200 code points of several bytes each', async () => {
    expect(await found('🫖'.repeat(200))).toEqual([]);
  });

  test.each(['', ' ', '\t\n', '\u3000', '\u200B', '!?', '"', '*', '(((', '_', '%', '\0', '+', '#'])(
    'returns no results without a word: %j',
    async (q) => {
      const { data, response } = await api.searchSpaces({ client: app.client(), query: { q } });
      expect(data).toEqual([]);
      expect(response?.headers.has('link')).toBe(false);
    },
  );

  const fooBar = ['foo_bar* OR not'];
  const percent = ['100% a-b "AND" (NEAR'];
  test.each([
    ['100%', percent],
    ['a-b', percent],
    ['"NEAR"', percent],
    ['b AND near', percent],
    ['NEAR(', percent],
    ['near/2 a', []],
    ['(((a-b', percent],
    ['words:a', []],
    ['foo_bar', fooBar],
    ['foo*', fooBar],
    ['*foo', fooBar],
    ['^foo', fooBar],
    ['-foo', fooBar],
    ['foo OR a', []],
    ['NOT foo', fooBar],
    ['fo_', fooBar],
    ['f%', fooBar],
    ['f?o', []],
    ['foo?b', fooBar],
    ['f?q', []],
    ["'; DROP TABLE spaces; --", []],
    ['\0foo\0', fooBar],
  ])('has no operators or wildcards: %j', async (q, expected) => {
    expect(await foundAsTyped(q)).toEqual(expected);
    expect((await found(q)).slice(0, expected.length)).toEqual(expected);
  });

  test('is truncated to its first twelve words', async () => {
    const words = 'one two three four five six seven eight nine ten eleven twelve';
    await createSpace(ann, { title: `Count ${words.slice(4)}`, description: 'one' });
    expect(await foundAsTyped(`${words} thirteen`)).toHaveLength(1);
    expect(await foundAsTyped(`thirteen ${words}`)).toEqual([]);
  });

  test('counts repeated words once', async () => {
    const many = 'foo FOO foo Föö foo foo foo foo foo foo foo foo foo';
    expect(await foundAsTyped(`${many} near`)).toEqual([]);
    expect(await foundAsTyped(`${many} not`)).toHaveLength(1);
  });

  test('may contain an unencoded question mark', async () => {
    for (const _ of [1, 2]) await createSpace(ann, { title: 'Vienna? Only vienna?' });
    const first = await app.fetch('/api/spaces/search?limit=1&as_typed=true&q=who?vienna');
    expect(await first.json()).toEqual([]);
    const second = await app.fetch('/api/spaces/search?limit=1&q=only?vienna');
    expect(nextPage(second)).toMatch(/[?&]q=only%3Fvienna(&|$)/);
  });
});

describe('limit', () => {
  beforeAll(async () => {
    for (let i = 0; i < 22; i += 1) await createSpace(ann, { title: 'Crowd', tags: ['crowd'] });
  });

  describe.each([
    ['a search', '/api/spaces/search?q=crowd&'],
    ['a search by tag', '/api/spaces/tag/crowd?'],
  ])('of %s', (_, path) => {
    test('is 20 by default', async () => {
      const response = await app.fetch(path);
      expect(await response.json()).toHaveLength(20);
      expect(nextPage(response)).toBeDefined();
    });

    test.each([1, 7, 21, 22, 23, 100])('accepts %s', async (limit) => {
      const response = await app.fetch(`${path}limit=${limit}`);
      expect(await response.json()).toHaveLength(Math.min(limit, 22));
      expect(nextPage(response) === undefined).toBe(limit >= 22);
    });

    test.each([
      ...['0', '101', '-1', '1.5', 'ten', '', ' ', '1&limit=2', 'NaN', '1e400', '-1e400'],
      ...['0x5', '0b1', '1e1', '5.0', '5.', '05', '%205', '5%20', '%2B5', '5n'],
    ])('rejects "%s"', async (limit) => {
      const response = await app.fetch(`${path}limit=${limit}`);
      expect(response.status).toBe(400);
      const { errors } = (await response.json()) as Problem;
      expect(new Set(errors.map(({ name }) => name))).toEqual(new Set(['limit']));
    });

    test('rejects 400 digits', async () => {
      expect((await app.fetch(`${path}limit=${'9'.repeat(400)}`)).status).toBe(400);
    });
  });
});

describe('The order', () => {
  test('is by logarithmic steps of participants, then newest first', async () => {
    const spaces = [];
    for (const count of [1, 8, 2, 5, 3, 6, 1, 4, 7]) {
      const space = await createSpace(ann, { title: `Popular with ${count}`, tags: ['popular'] });
      await setParticipants(space, count);
      spaces.push(space);
    }
    // 3 and 4 are in the same step, as are 5 and 6, and 7 and 8.
    const expected = [7, 8, 6, 5, 4, 3, 2, 1, 1].map((count) => `Popular with ${count}`);
    expect(await found('popular')).toEqual(expected);
    expect(await tagged('popular')).toEqual(expected);
    const newest = (await search('popular')).at(-2)?.space_id;
    expect(newest).toBe(spaces[6]?.space_id);
  });

  test('changes with the text of a space only if its rank changes', async () => {
    const space = await createSpace(ann, { title: 'Steady one' });
    await createSpace(ann, { title: 'Steady two' });
    await change(space, { title: 'Steady as ever', description: 'New words.' });
    expect(await found('steady')).toEqual(['Steady two', 'Steady as ever']);
    await change(space, { title: 'Ever', description: 'Steady.' });
    expect(await found('steady')).toEqual(['Steady two', 'Ever']);
    await change(space, { title: 'Steady' });
    expect(await found('steady')).toEqual(['Steady', 'Steady two']);
  });
});
