import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import { transact } from '../../server/database/transaction.ts';
import { writerOf } from '../../server/search/writer-of.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { readPages } from '../support/pages.ts';
import { getPage, searchPath, tagPath } from '../support/search-pages.ts';
import { createSpace } from '../support/spaces.ts';
import { createTeaSpaces } from '../support/tea-spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
let spaces: Space[];

beforeAll(async () => {
  ({ ann, spaces } = await createTeaSpaces(app));
});

const ids = (results: Pick<Space, 'space_id'>[]) => results.map(({ space_id }) => space_id);

const get = (path: string) => getPage(app, path);

describe('The pages of a search', () => {
  const queries = [
    'tea',
    'cake tea',
    't',
    '茶道',
    '茶道 cake',
    'tasting',
    'teehouse',
    'tea with cake',
    'tea qqqq',
    '道茶道花',
  ];

  let current: SearchResult[];
  beforeAll(async () => {
    current = await Promise.all(
      spaces.map(async ({ space_id }) => {
        const path = { space_id };
        const { data } = await api.getSpace({ client: ann.client, path, throwOnError: true });
        const { created_at, invitation_code, participation, posting, ...result } = data;
        return result as SearchResult;
      }),
    );
  });

  test.each(queries)('for %j form the whole list, without repeats or gaps', async (q) => {
    for (const asTyped of [false, true]) {
      const whole = (await get(searchPath(q, 100, asTyped))).body;
      for (const limit of [1, 2, 3, 7]) {
        const pages = await readPages<SearchResult>(app, searchPath(q, limit, asTyped));
        expect(pages.flat()).toEqual(whole);
        // Only the last page may be shorter, and a page is empty only if the list is.
        expect(pages.map((page) => page.length)).toEqual(
          pages.map((_, i) => Math.min(limit, whole.length - i * limit)),
        );
        expect(pages).toHaveLength(Math.max(1, Math.ceil(whole.length / limit)));
      }
    }
  });

  test.each(['everything', 'most'])(
    'for the tag "%s" form the whole list in order',
    async (tag) => {
      const step = (space: SearchResult) => -Math.floor(2 * Math.log2(1 + space.participant_count));
      const tagged = current.filter(({ tags }) => tags.some(({ tag_name }) => tag_name === tag));
      const whole = tagged.toReversed().sort((a, b) => step(a) - step(b));
      for (const limit of [1, 2, 3, 7]) {
        const pages = await readPages<SearchResult>(app, tagPath(tag, limit));
        expect(pages.flat()).toEqual(whole);
        expect(pages).toHaveLength(Math.ceil(whole.length / limit));
      }
    },
  );

  test.each([
    ['text', searchPath('cake', 3)],
    ['text as typed', searchPath('cake', 3, true)],
    ['text of another query', searchPath('cakke', 3)],
    ['text of both queries', searchPath('tasting', 3)],
    ['tag', tagPath('everything', 3)],
  ])('contain no space twice when other spaces are created meanwhile: %s', async (_, path) => {
    const before = ids((await readPages<SearchResult>(app, path)).flat());
    const first = await get(path);
    const added: Space[] = [];
    for (const title of ['Cake', 'More cake', 'Something else', 'Tasting', 'Taste', 'Cakke']) {
      const space = { title, description: 'Cake.', tags: ['everything'] };
      added.push(await createSpace(ann, space));
    }
    await waitForDictionary(app);
    const rest = await readPages<SearchResult>(app, first.next as string);
    const after = [...ids(first.body), ...ids(rest.flat())];
    expect(new Set(after).size).toBe(after.length);
    expect(after.filter((id) => !ids(added).includes(id))).toEqual(before);
    for (const { space_id } of added) {
      await api.deleteSpace({ client: ann.client, path: { space_id }, throwOnError: true });
    }
    await waitForDictionary(app);
    expect(ids((await readPages<SearchResult>(app, path)).flat())).toEqual(before);
  });

  // The spaces with all words are fewer than a page of results, so the first page stores their keys in the list.
  test('omit a space that matches more words than the rest, if it was changed after the first page', async () => {
    const titles = [
      'One quokka lantern violin',
      'Two quokka lantern violin',
      'Three quokka lantern violin',
    ];
    const found: Space[] = [];
    for (const title of ['Quokka lantern', ...titles])
      found.push(await createSpace(ann, { title }));
    const path = searchPath('quokka lantern violin', 1);
    const [rest, ...complete] = ids(found);
    expect(ids((await readPages<SearchResult>(app, path)).flat())).toEqual([
      ...complete.toReversed(),
      rest,
    ]);

    const first = await get(path);
    await api.updateSpace({
      client: ann.client,
      path: { space_id: complete[1] as string },
      body: { title: 'Something else' },
      throwOnError: true,
    });
    const others = (await readPages<SearchResult>(app, first.next as string)).flat();
    expect(ids(others)).toEqual([complete[0], rest]);
    for (const space_id of ids(found)) {
      await api.deleteSpace({ client: ann.client, path: { space_id }, throwOnError: true });
    }
  });

  test('may be short or empty if many spaces contain the bigrams of a word, but not the word', async () => {
    await using other = await startApp();
    const user = await other.register();
    await createSpace(user, { title: '山川町の声' });
    const { engine } = other.context;
    const creator = await engine.db.selectFrom('users').select('pk').executeTakeFirstOrThrow();
    // Larger transactions are not added to the index at once on PostgreSQL.
    for (let first = 0; first < 2_500; first += 250) {
      await transact(engine, async (trx) => {
        for (let i = first; i < first + 250; i += 1) {
          const { pk } = await trx
            .insertInto('spaces')
            .values({
              space_id: `s${i}`,
              creator_pk: creator.pk,
              title: '川町山川',
              description: '',
              visibility: 'public',
              posting: 'participants',
              invitation_code: null,
              participant_count: 1,
              created_at: new Date().toISOString(),
            })
            .returning('pk')
            .executeTakeFirstOrThrow();
          await writerOf(engine).indexSpaces(trx, [pk]);
        }
      });
    }
    const pages = await readPages<SearchResult>(other, searchPath('山川町', 5, true));
    expect(pages.flat()).toMatchObject([{ title: '山川町の声' }]);
    expect(pages.length).toBeGreaterThan(1);
    // Each page rejects slightly fewer than 500 rows, because the length of a verified text also counts. Each space is
    // read twice: for its title, and for its title with its description.
    expect(pages.length).toBeLessThan(15);
    // The other query finds the parts of the word in any order, so it finds all spaces.
    const all = (await readPages<SearchResult>(other, searchPath('山川町', 100))).flat();
    expect(new Set(ids(all)).size).toBe(2_501);
    expect(all).toHaveLength(2_501);
  });
});

describe('Any text', () => {
  /** Texts that have a meaning in SQL, FTS5, JSON, URLs or Unicode. */
  const piece = fc.constantFrom(
    ...'"\'*-^():+#.%_\\\0\n ',
    ...'\u200D\u0301\uFE0F\u{E0041}ßİﷺ\uFFFF\u{10FFFF}½ｱ',
    ...'AND OR NOT NEAR( words: "" tea c++ .net 茶道 🫖 👩‍💻'.split(' '),
  );
  /** Well-formed text of at most 200 code points. */
  const text = fc
    .oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.string({ unit: piece, maxLength: 60 }),
    )
    .map((string) => Array.from(string).slice(0, 200).join(''));

  test('gets 200 from the text search', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (q) => {
        const { status, next } = await get(searchPath(q, 3));
        expect(status).toBe(200);
        if (next) expect((await get(next)).status).toBe(200);
      }),
      { numRuns: 250 },
    );
  });

  test('gets 200 from the tag search', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (tag) => {
        // An empty tag gets 404. URL parsers resolve the others as relative path segments.
        fc.pre(!['', '.', '..'].includes(tag));
        expect((await get(tagPath(tag, 3))).status).toBe(200);
      }),
      { numRuns: 200 },
    );
  });

  test('gets 200, or 400 if it is not percent-encoded UTF-8', async () => {
    const encodedPart = fc.constantFrom(
      ...'% %2 %zz %00 %FF %C0%80 %ED%A0%80 %ED%B0%80 %F4%90%80%80'.split(' '),
      ...'%E6%9D%B1 %F0%9F%AB%96 %E6%9D %25 %2F %26 tea + . ~'.split(' '),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(encodedPart, { minLength: 1, maxLength: 8 }), async (parts) => {
        const encoded = parts.join('');
        fc.pre(!/^\.+$/.test(encoded));
        const expected = isDecodable(encoded) ? 200 : 400;
        expect((await get(`/api/spaces/search?q=${encoded}`)).status).toBe(expected);
        expect((await get(`/api/spaces/tag/${encoded}`)).status).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });

  const isDecodable = (encoded: string) => {
    try {
      decodeURIComponent(encoded);
      return true;
    } catch {
      return false;
    }
  };
});
