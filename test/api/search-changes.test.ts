import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space, SpaceUpdate } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { buildDictionary } from '../support/dictionary.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { createSpace, joinSpace, leaveSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

// `buildDictionary` replaces maintenance.
const app = useApp({}, { runsMaintenance: false });
let creator: TestUser;
let guests: TestUser[];

beforeAll(async () => {
  creator = await app.register();
  guests = await Promise.all(Array.from({ length: 3 }, () => app.register()));
});

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
    guests: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    kind: fc.constant('leave' as const),
    index,
    guests: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ kind: fc.constant('refresh dictionary' as const) }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const walk = fc.record({
  spaces: fc.array(fc.record({ text, guests: fc.nat({ max: 3 }) }), {
    minLength: 6,
    maxLength: 14,
  }),
  limit: fc.integer({ min: 1, max: 4 }),
  /** The changes between each page and the next. */
  changes: fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 6 }),
});

/** Few enough for less than a thousand spaces: with more, the dictionary omits words of a single space. */
const RUNS = 8;

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
const tagPath = (tag: string) => `/api/spaces/tag/${tag}?`;
const misspelt = (word: string) => word.replace('walk', 'wakl');

interface Text {
  title: string;
  description: string;
}

/** Replaces WORD in both texts. */
const withWord = ({ title, description }: Text, word: string): Text => ({
  title: title.replace('WORD', word),
  description: description.replace('WORD', word),
});

const create = (text: Text, word: string) =>
  createSpace(creator, { ...withWord(text, word), tags: [word] });

/** Performs a change of one space. The space may be deleted. */
async function changeSpace(
  { space_id }: Space,
  change: Extract<Change, { index: number }>,
  word: string,
): Promise<void> {
  const path = { space_id };
  const update = (body: SpaceUpdate) => api.updateSpace({ client: creator.client, path, body });
  switch (change.kind) {
    case 'edit':
      await update(withWord(change.text, word));
      break;
    case 'delete':
      await api.deleteSpace({ client: creator.client, path });
      break;
    case 'hide':
      await update({ visibility: 'private' });
      break;
    case 'publish':
      await update({ visibility: 'public' });
      break;
    case 'join':
      for (const { client } of guests.slice(0, change.guests)) {
        await api.joinSpace({ client, path, body: {} });
      }
      break;
    case 'leave':
      for (const { client } of guests.slice(0, change.guests)) {
        await api.leaveSpace({ client, path });
      }
      break;
  }
}

/** Reads all pages of a search, with a pause after each. */
async function readSlowly(path: string, pause: (page: number) => Promise<void>) {
  const ids: string[] = [];
  const answeredQueries: (string | null)[] = [];
  let next: string | undefined = path;
  for (let page = 0; next !== undefined; page += 1) {
    const response: Response = await app.fetch(next);
    expect(response.status).toBe(200);
    ids.push(...((await response.json()) as SearchResult[]).map(({ space_id }) => space_id));
    answeredQueries.push(response.headers.get('answered-query'));
    await pause(page);
    next = nextPage(response);
  }
  return { ids, answeredQueries };
}

interface Search {
  kind: string;
  pathOf(word: string): string;
  /** Whether every page of every walk must have the header Answered-Query. */
  hasOtherQuery?: boolean;
  needsDictionary?: boolean;
}

describe.each<Search>([
  { kind: 'a text', pathOf: searchPath },
  { kind: 'a text as typed', pathOf: (word) => `${searchPath(word)}&as_typed=true` },
  {
    kind: 'a text and other forms of it',
    pathOf: (word) => searchPath(`${word}s`),
    needsDictionary: true,
  },
  {
    kind: 'a misspelt text',
    pathOf: (word) => searchPath(misspelt(word)),
    needsDictionary: true,
    hasOtherQuery: true,
  },
  { kind: 'a tag', pathOf: tagPath },
])(
  'Reading all pages of a search for $kind while spaces change',
  ({ pathOf, needsDictionary, hasOtherQuery }) => {
    test('returns no space twice, and every unchanged space', async () => {
      let changed = 0;
      let withOtherQuery = 0;
      await fc.assert(
        fc.asyncProperty(walk, async ({ spaces: given, limit, changes }) => {
          const word = nextWord();
          const spaces: Space[] = [];
          for (const { text, guests: count } of given) {
            const space = await create(text, word);
            for (const guest of guests.slice(0, count)) await joinSpace(guest, space);
            spaces.push(space);
          }
          if (needsDictionary) await buildDictionary(app);
          const unchanged = new Set(spaces.map(({ space_id }) => space_id));

          const perform = async (each: Change) => {
            changed += 1;
            if (each.kind === 'create') {
              spaces.push(await create(each.text, word));
            } else if (each.kind === 'refresh dictionary') {
              await buildDictionary(app);
            } else {
              const space = spaces[each.index % spaces.length] as Space;
              unchanged.delete(space.space_id);
              await changeSpace(space, each, word);
            }
          };
          const { ids, answeredQueries } = await readSlowly(
            `${pathOf(word)}&limit=${limit}`,
            async (page) => {
              for (const each of changes[page] ?? []) await perform(each);
            },
          );
          const [answeredQuery] = answeredQueries;
          expect(new Set(answeredQueries)).toEqual(new Set([answeredQuery]));
          if (answeredQuery) withOtherQuery += 1;
          expect(ids).toEqual([...new Set(ids)]);
          expect([...unchanged].filter((id) => !ids.includes(id))).toEqual([]);
        }),
        // With a seed, because random walks may change too little, which the last expectations detect.
        { numRuns: RUNS, seed: 1 },
      );
      expect(changed).toBeGreaterThan(RUNS);
      if (hasOtherQuery) expect(withOtherQuery).toBe(RUNS);
    });
  },
);

describe('A space whose rank drops after the first page has been read', () => {
  const read = async (path: string) => {
    const response = await app.fetch(path);
    const ids = ((await response.json()) as SearchResult[]).map(({ space_id }) => space_id);
    return { ids, next: nextPage(response) as string };
  };

  const removeGuests = async (space: Space) => {
    for (const guest of guests) await leaveSpace(guest, space);
  };
  const removeWord = async ({ space_id }: Space) => {
    await api.updateSpace({
      client: creator.client,
      path: { space_id },
      body: { title: 'Something else' },
      throwOnError: true,
    });
  };
  const moves = [
    ['loses its participants', removeGuests],
    ['loses the word from its title', removeWord],
  ] as const;
  const otherQueryPath = (word: string) => searchPath(misspelt(word));

  test.each([
    ...moves.flatMap(([how, move]) => [
      { query: 'as typed', pathOf: searchPath, how, move },
      { query: 'by another query', pathOf: otherQueryPath, how, move },
    ]),
    { query: 'by its tag', pathOf: tagPath, how: 'loses its participants', move: removeGuests },
  ])('found $query, is not returned again if it $how', async ({ move, pathOf }) => {
    const word = nextWord();
    const title = `About ${word}`;
    const tags = [word];
    const falling = await createSpace(creator, { title, description: word, tags });
    const others: Space[] = [];
    for (let i = 0; i < 3; i += 1) others.push(await createSpace(creator, { title, tags }));
    for (const guest of guests) await joinSpace(guest, falling);

    await buildDictionary(app);

    const first = await read(`${pathOf(word)}&limit=2`);
    expect(first.ids).toContain(falling.space_id);
    await move(falling);
    const rest = (await readPages<SearchResult>(app, first.next)).flat();
    expect([...first.ids, ...rest.map(({ space_id }) => space_id)].toSorted()).toEqual(
      [falling, ...others].map(({ space_id }) => space_id).toSorted(),
    );
    // A new search returns it at its new rank.
    const newSearch = await read(pathOf(word));
    expect(newSearch.ids.at(-1)).toBe(falling.space_id);
  });
});
