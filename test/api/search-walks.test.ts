import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { createSpace, join } from '../support/spaces.ts';

let app: TestApp;
let creator: TestUser;
let guests: TestUser[];

beforeAll(async () => {
  app = await startApp();
  creator = await app.register();
  guests = await Promise.all(Array.from({ length: 6 }, () => app.register()));
});
afterAll(() => app[Symbol.asyncDispose]());

/** Two titles that equal the query, some that hold it, some spaces that hold it in their description only. */
const text = fc.constantFrom(
  { title: 'WORD', description: '' },
  { title: 'All about WORD', description: 'And more.' },
  { title: 'Something else', description: 'It is about WORD too.' },
);
/** Which of the spaces, counted round. */
const place = fc.nat({ max: 99 });
const change = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), text }),
  fc.record({ kind: fc.constant('edit' as const), place, text }),
  fc.record({ kind: fc.constant('delete' as const), place }),
  fc.record({ kind: fc.constant('hide' as const), place }),
  fc.record({ kind: fc.constant('publish' as const), place }),
  fc.record({ kind: fc.constant('join' as const), place, guests: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ kind: fc.constant('leave' as const), place, guests: fc.integer({ min: 1, max: 6 }) }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const walk = fc.record({
  spaces: fc.array(fc.record({ text, guests: fc.nat({ max: 6 }) }), {
    minLength: 6,
    maxLength: 14,
  }),
  limit: fc.integer({ min: 1, max: 4 }),
  /** What happens between one page and the next. */
  between: fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 6 }),
});

let walks = 0;

describe.each(['text', 'tag'])(
  'Whoever walks through the pages of a %s search while spaces come, go, and gain and lose participants and words',
  (kind) => {
    test('sees no space twice, and every one that stood still', async () => {
      let changed = 0;
      await fc.assert(
        fc.asyncProperty(walk, async ({ spaces: given, limit, between }) => {
          walks += 1;
          const word = `walk${String(walks).replace(/\d/g, (digit) => 'abcdefghij'[+digit] ?? '')}`;
          const create = ({ title, description }: { title: string; description: string }) =>
            createSpace(creator, {
              title: title.replace('WORD', word),
              description: description.replace('WORD', word),
              tags: [word],
            });
          const spaces: Space[] = [];
          for (const { text, guests: count } of given) {
            const space = await create(text);
            for (const guest of guests.slice(0, count)) await join(guest, space);
            spaces.push(space);
          }
          const standing = new Set(spaces.map(({ space_id }) => space_id));

          const perform = async (each: Change) => {
            changed += 1;
            if (each.kind === 'create') {
              spaces.push(await create(each.text));
              return;
            }
            const space = spaces[each.place % spaces.length];
            if (!space) return;
            const path = { space_id: space.space_id };
            standing.delete(space.space_id);
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
                for (const guest of guests.slice(0, each.guests))
                  await api.joinSpace({ client: guest.client, path, body: {} });
                break;
              case 'leave':
                for (const guest of guests.slice(0, each.guests))
                  await api.leaveSpace({ client: guest.client, path });
                break;
            }
          };

          const seen: string[] = [];
          let next: string | undefined =
            kind === 'text'
              ? `/api/spaces/search?q=${word}&limit=${limit}`
              : `/api/spaces/tag/${word}?limit=${limit}`;
          for (let page = 0; next !== undefined; page += 1) {
            const response = await app.fetch(next);
            expect(response.status).toBe(200);
            seen.push(...((await response.json()) as SearchResult[]).map((each) => each.space_id));
            for (const each of between[page] ?? []) await perform(each);
            next = nextPage(response);
          }
          expect(seen).toEqual([...new Set(seen)]);
          expect([...standing].filter((id) => !seen.includes(id))).toEqual([]);
        }),
        { numRuns: 40 },
      );
      expect(changed).toBeGreaterThan(40);
    }, 120_000);
  },
);

describe('A space that moves while somebody walks through the pages', () => {
  const searchPath = (q: string) => `/api/spaces/search?q=${q}&limit=2`;
  const read = async (path: string) => {
    const response = await app.fetch(path);
    const ids = ((await response.json()) as SearchResult[]).map(({ space_id }) => space_id);
    return { ids, next: nextPage(response) as string };
  };

  test.each([
    [
      'loses its participants',
      async ({ space_id }: Space) => {
        for (const { client } of guests)
          await api.leaveSpace({ client, path: { space_id }, throwOnError: true });
      },
    ],
    [
      'loses the word from its title',
      async ({ space_id }: Space) => {
        await api.updateSpace({
          ...{ client: creator.client, path: { space_id }, throwOnError: true },
          body: { title: 'Something else' },
        });
      },
    ],
  ])('is not shown again when it %s', async (how, move) => {
    const word = `falling${how.replaceAll(' ', '')}`;
    const title = `About ${word}`;
    const falling = await createSpace(creator, { title, description: word });
    const others: Space[] = [];
    for (let i = 0; i < 3; i += 1) others.push(await createSpace(creator, { title }));
    for (const guest of guests) await join(guest, falling);

    const first = await read(searchPath(word));
    expect(first.ids).toContain(falling.space_id);
    await move(falling);
    const rest = (await readPages<SearchResult>(app, first.next)).flat();
    expect([...first.ids, ...rest.map(({ space_id }) => space_id)].toSorted()).toEqual(
      [falling, ...others].map(({ space_id }) => space_id).toSorted(),
    );
    // Whoever begins anew finds it where it is now.
    const anew = await read(`/api/spaces/search?q=${word}`);
    expect(anew.ids.at(-1)).toBe(falling.space_id);
  });
});
