import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { isPostgresql } from '../support/databases.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { createSpace, joinSpace } from '../support/spaces.ts';

let app: TestApp;
let creator: TestUser;
let guests: TestUser[];

// Each test uses a new database, because with a thousand spaces the dictionary omits words of a single space.
beforeEach(async () => {
  app = await startApp();
  creator = await app.register();
  guests = await Promise.all(Array.from({ length: 6 }, () => app.register()));
});
afterEach(() => app[Symbol.asyncDispose]());

/** Titles that equal the query, titles that contain it, and descriptions that contain it. WORD is replaced. */
const text = fc.constantFrom(
  { title: 'WORDs', description: '' },
  { title: 'WORD', description: '' },
  { title: 'All about WORDs', description: 'And more.' },
  { title: 'All about WORD', description: 'And more.' },
  { title: 'Something else', description: 'It is about WORDs too.' },
  { title: 'Something else', description: 'It is about WORD too.' },
);
/** Selects a space: its index modulo the number of spaces. */
const index = fc.nat({ max: 99 });
const change = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), text }),
  fc.record({ kind: fc.constant('edit' as const), index, text }),
  fc.record({ kind: fc.constant('delete' as const), index }),
  fc.record({ kind: fc.constant('hide' as const), index }),
  fc.record({ kind: fc.constant('publish' as const), index }),
  fc.record({
    kind: fc.constant('join' as const),
    index,
    guests: fc.integer({ min: 1, max: 6 }),
  }),
  fc.record({
    kind: fc.constant('leave' as const),
    index,
    guests: fc.integer({ min: 1, max: 6 }),
  }),
  fc.record({ kind: fc.constant('refresh dictionary' as const) }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const walk = fc.record({
  spaces: fc.array(fc.record({ text, guests: fc.nat({ max: 6 }) }), {
    minLength: 6,
    maxLength: 14,
  }),
  limit: fc.integer({ min: 1, max: 4 }),
  /** The changes between each page and the next. */
  changes: fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 6 }),
});

// Writes of PostgreSQL take longer.
const RUNS = isPostgresql ? 15 : 40;

let walks = 0;

/** Returns a word that is not similar to the word of another walk. */
const nextWord = () => {
  walks += 1;
  const syllables = ['bam', 'cor', 'dul', 'fen', 'gim', 'hop', 'jat', 'kev', 'lom', 'nur'];
  return `walk${String(walks)
    .padStart(3, '0')
    .replace(/\d/g, (digit) => syllables[+digit] ?? '')}`;
};

const searchPath = (q: string) => `/api/spaces/search?q=${q}`;
const misspelt = (word: string) => word.replace('walk', 'wakl');

describe.each<[string, (word: string) => string]>([
  ['a text', (word) => searchPath(word)],
  ['a text as typed', (word) => `${searchPath(word)}&as_typed=true`],
  ['a text and other forms of it', (word) => searchPath(`${word}s`)],
  ['a misspelt text', (word) => searchPath(misspelt(word))],
  ['a tag', (word) => `/api/spaces/tag/${word}?`],
])('Reading all pages of a search for %s while spaces change', (kind, pathOf) => {
  test('returns no space twice, and every unchanged space', async () => {
    const needsDictionary = ['a misspelt text', 'a text and other forms of it'].includes(kind);
    let changed = 0;
    let withOtherQuery = 0;
    await fc.assert(
      fc.asyncProperty(walk, async ({ spaces: given, limit, changes }) => {
        const word = nextWord();
        const create = ({ title, description }: { title: string; description: string }) =>
          createSpace(creator, {
            title: title.replace('WORD', word),
            description: description.replace('WORD', word),
            tags: [word],
          });
        const spaces: Space[] = [];
        for (const { text, guests: count } of given) {
          const space = await create(text);
          for (const guest of guests.slice(0, count)) await joinSpace(guest, space);
          spaces.push(space);
        }
        if (needsDictionary) await waitForDictionary(app);
        const unchanged = new Set(spaces.map(({ space_id }) => space_id));

        const perform = async (each: Change) => {
          changed += 1;
          if (each.kind === 'create') {
            spaces.push(await create(each.text));
            return;
          }
          if (each.kind === 'refresh dictionary') {
            await waitForDictionary(app);
            return;
          }
          const space = spaces[each.index % spaces.length];
          if (!space) return;
          const path = { space_id: space.space_id };
          unchanged.delete(space.space_id);
          const { client } = creator;
          switch (each.kind) {
            case 'edit': {
              const title = each.text.title.replace('WORD', word);
              const description = each.text.description.replace('WORD', word);
              await api.updateSpace({ client, path, body: { title, description } });
              break;
            }
            case 'delete':
              await api.deleteSpace({ client, path });
              break;
            case 'hide':
              await api.updateSpace({ client, path, body: { visibility: 'private' } });
              break;
            case 'publish':
              await api.updateSpace({ client, path, body: { visibility: 'public' } });
              break;
            case 'join':
              for (const guest of guests.slice(0, each.guests)) {
                await api.joinSpace({ client: guest.client, path, body: {} });
              }
              break;
            case 'leave':
              for (const guest of guests.slice(0, each.guests)) {
                await api.leaveSpace({ client: guest.client, path });
              }
              break;
          }
        };

        const seen: string[] = [];
        const headers: (string | null)[] = [];
        for (
          let next: string | undefined = `${pathOf(word)}&limit=${limit}`;
          next !== undefined;
        ) {
          const response: Response = await app.fetch(next);
          expect(response.status).toBe(200);
          seen.push(...((await response.json()) as SearchResult[]).map((each) => each.space_id));
          headers.push(response.headers.get('answered-query'));
          for (const each of changes[headers.length - 1] ?? []) await perform(each);
          next = nextPage(response);
        }
        const [header] = headers;
        expect(new Set(headers)).toEqual(new Set([header]));
        if (header) withOtherQuery += 1;
        expect(seen).toEqual([...new Set(seen)]);
        expect([...unchanged].filter((id) => !seen.includes(id))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
    expect(changed).toBeGreaterThan(RUNS);
    if (kind === 'a misspelt text') expect(withOtherQuery).toBe(RUNS);
  }, 240_000);
});

describe('A space whose rank falls between two pages', () => {
  const read = async (path: string) => {
    const response = await app.fetch(path);
    const ids = ((await response.json()) as SearchResult[]).map(({ space_id }) => space_id);
    return { ids, next: nextPage(response) as string };
  };

  const moves: [string, (space: Space) => Promise<void>][] = [
    [
      'loses its participants',
      async ({ space_id }: Space) => {
        for (const { client } of guests) {
          await api.leaveSpace({ client, path: { space_id }, throwOnError: true });
        }
      },
    ],
    [
      'loses the word from its title',
      async ({ space_id }: Space) => {
        await api.updateSpace({
          client: creator.client,
          path: { space_id },
          body: { title: 'Something else' },
          throwOnError: true,
        });
      },
    ],
  ];
  const spellings: [string, (word: string) => string][] = [
    ['as typed', (word) => word],
    ['in another query', misspelt],
  ];

  test.each(
    moves.flatMap(([how, move]) =>
      spellings.map(([place, spell]) => ({ how, move, place, spell })),
    ),
  )('is not returned again if it $how, found $place', async ({ move, spell }) => {
    const word = nextWord();
    const title = `About ${word}`;
    const falling = await createSpace(creator, { title, description: word });
    const others: Space[] = [];
    for (let i = 0; i < 3; i += 1) others.push(await createSpace(creator, { title }));
    for (const guest of guests) await joinSpace(guest, falling);

    await waitForDictionary(app);

    const first = await read(`${searchPath(spell(word))}&limit=2`);
    expect(first.ids).toContain(falling.space_id);
    await move(falling);
    const rest = (await readPages<SearchResult>(app, first.next)).flat();
    expect([...first.ids, ...rest.map(({ space_id }) => space_id)].toSorted()).toEqual(
      [falling, ...others].map(({ space_id }) => space_id).toSorted(),
    );
    // A new search returns it at its new rank.
    const newSearch = await read(searchPath(spell(word)));
    expect(newSearch.ids.at(-1)).toBe(falling.space_id);
  });
});
