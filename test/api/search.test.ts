import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Problem, SearchResult, Space, SpaceUpdate } from '../../generated/types.gen.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { head, sendRaw } from '../support/raw.ts';
import { createSpace, joinSpace } from '../support/spaces.ts';

let app: TestApp;
let ann: TestUser;
let others: TestUser[];

beforeAll(async () => {
  app = await startApp();
  ann = await app.register('ann');
  others = await Promise.all(Array.from({ length: 15 }, () => app.register()));
});
afterAll(() => app[Symbol.asyncDispose]());

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

const leave = ({ client }: TestUser, { space_id }: Space) =>
  api.leaveSpace({ client, path: { space_id }, throwOnError: true });

/** Makes users join or leave until the space has this many participants, including its creator. */
const setParticipants = async (space: Space, participants: number) => {
  for (const [i, user] of others.entries()) {
    await (i < participants - 1 ? joinSpace(user, space) : leave(user, space));
  }
};

describe('A search result', () => {
  test('has exactly the fields of SearchResult', async () => {
    const { created_at, invitation_code, ...result } = await createSpace(ann, {
      title: 'Kombucha "to go" \\ here',
      description: 'One\nline, {"a": 1} and\u2028another </script>.',
      tags: ['fermented', 'Rosé'],
    });
    expect(await search('kombucha')).toEqual([result]);
    expect(await searchTag('fermented')).toEqual([result]);
  });

  test('has the same creator object as the space', async () => {
    const creator = await app.register('zephyr_creator.1');
    const { space_id } = await createSpace(creator, { title: 'Zephyr', tags: ['zephyr'] });
    const { client } = creator;
    for (const avatar of [undefined, await avatarFile()]) {
      if (avatar) await api.changeProfilePicture({ client, body: { avatar }, throwOnError: true });
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
      errors: [{ pointer: '?q', message }],
    });
  });

  test.each(['%', '%zz', '%E0%A4%A', '%FF', 'a?%FF', 'tea&limit=%C3', '%ED%A0%80', '%C0%80'])(
    'is rejected if its percent-encoding is malformed: %s',
    async (encoded) => {
      const response = await app.fetch(`/api/spaces/search?q=${encoded}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: 'invalid_request',
        errors: [{ pointer: '?' }],
      });
    },
  );

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

  const both = ['foo_bar* OR not', '100% a-b "AND" (NEAR'];
  test.each([
    ['100%', both.slice(1)],
    ['a-b', both.slice(1)],
    ['"NEAR"', both.slice(1)],
    ['b AND near', both.slice(1)],
    ['NEAR(', both.slice(1)],
    ['near/2 a', []],
    ['(((a-b', both.slice(1)],
    ['words:a', []],
    ['foo_bar', both.slice(0, 1)],
    ['foo*', both.slice(0, 1)],
    ['*foo', both.slice(0, 1)],
    ['^foo', both.slice(0, 1)],
    ['-foo', both.slice(0, 1)],
    ['foo OR a', []],
    ['NOT foo', both.slice(0, 1)],
    ['fo_', both.slice(0, 1)],
    ['f%', both.slice(0, 1)],
    ['f?o', []],
    ['foo?b', both.slice(0, 1)],
    ['f?q', []],
    ["'; DROP TABLE spaces; --", []],
    ['\0foo\0', both.slice(0, 1)],
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

describe('A tag', () => {
  const names = [
    ...[
      'a/b',
      '100%',
      'c++',
      'C#',
      '.net',
      '🫖',
      '👩🏽‍💻',
      '東京',
      'Zażółć',
      'Ünder  the Sea',
      'ＣＡＰＳ',
    ],
    ...['?q=1&x', '%2F', '..x', 'tea;time', "o'clock", '"quoted"', '\\', 'שלום', 'ไทย', '—'],
  ];
  beforeAll(async () => {
    for (let i = 0; i < names.length; i += 7) {
      await createSpace(ann, { title: `Tags ${i}`, tags: names.slice(i, i + 7) });
    }
  });

  test.each(names)('is found by its name: %s', async (name) => {
    const results = await searchTag(name);
    expect(results).toHaveLength(1);
    const stored = name.replace(/ +/g, ' ');
    expect(results[0]?.tags.map(({ tag_name }) => tag_name)).toContain(stored);
  });

  test.each([
    ['A/B', 'a/b'],
    ['#a/b', 'a/b'],
    ['  A/b ', 'a/b'],
    ['C++', 'c++'],
    ['c#', 'C#'],
    ['#c#', 'C#'],
    ['C♯', 'C#'],
    ['zazolc', 'Zażółć'],
    ['ZAŻÓŁĆ'.normalize('NFD'), 'Zażółć'],
    ['under the sea', 'Ünder  the Sea'],
    ['UNDER\tTHE\u3000SEA', 'Ünder  the Sea'],
    ['caps', 'ＣＡＰＳ'],
    ['👩‍💻', '👩🏽‍💻'],
    ['o’clock', "o'clock"],
  ])('is found by the spelling %s of %s', async (typed, name) => {
    expect(await searchTag(typed)).toEqual(await searchTag(name));
    expect(await searchTag(typed)).toHaveLength(1);
  });

  test.each([
    ['a prefix', 'unde'],
    ['one of its words', 'sea'],
    ['additional words', 'under the sea now'],
    ['other punctuation', 'c--'],
    ['missing punctuation', 'c'],
    ['double percent-encoding', '100%25'],
    ['the words of a title', 'tags'],
    ['a typing error', 'under teh sea'],
    ['300 characters', 'a'.repeat(300)],
    ['3,000 characters', 'a'.repeat(3000)],
    ['a wildcard', '%'],
    ['a number', '1'],
    ['NUL', '\0'],
    ['only #', '#'],
    ['a blank', ' '],
  ])('is not found by %s', async (_, name) => {
    expect(await searchTag(name)).toEqual([]);
  });

  test.each(['.', '..', '...', '%2e%2E', '~', '*', '+', '@:!$&()*,;='])(
    'may be the path segment %s',
    async (segment) => {
      const bytes = head('GET', `/api/spaces/tag/${segment}`, { connection: 'close' });
      expect(await sendRaw(app.url, bytes)).toMatchObject({ status: 200, body: '[]' });
    },
  );

  test('must not be empty', async () => {
    const response = await app.fetch('/api/spaces/tag/');
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found', errors: [] });
  });

  test('is a single path segment', async () => {
    expect((await app.fetch('/api/spaces/tag/a/b')).status).toBe(404);
    expect((await app.fetch('/api/spaces/tag/a%2Fb')).status).toBe(200);
  });

  test.each(['%', '100%', '%zz', '%E0%A4%A', '%FF', '%ED%A0%80'])(
    'is rejected if its percent-encoding is malformed: %s',
    async (segment) => {
      const response = await app.fetch(`/api/spaces/tag/${segment}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: 'invalid_request' });
    },
  );

  test('is encoded in the link to the next page, even if it was not encoded in the request', async () => {
    for (const _ of [1, 2]) await createSpace(ann, { tags: ['<"a>b|c'] });
    const bytes = head('GET', '/api/spaces/tag/<"a>b|c?limit=1', { connection: 'close' });
    const response = await sendRaw(app.url, bytes);
    const next = nextPage(response as unknown as Response);
    expect(next).toMatch(/^\/api\/spaces\/tag\/%3C%22a%3Eb%7Cc\?/);
    expect(await (await app.fetch(next as string)).json()).toHaveLength(1);
  });

  test('no longer finds a space after the tag was removed or the space became private', async () => {
    const space = await createSpace(ann, { title: 'Fickle', tags: ['fickle', 'constant'] });
    await change(space, { tags: ['constant', 'changed'] });
    expect([await tagged('fickle'), await tagged('constant'), await tagged('changed')]).toEqual([
      ...[[], ['Fickle'], ['Fickle']],
    ]);
    await change(space, { visibility: 'private' });
    expect([await tagged('constant'), await tagged('changed')]).toEqual([[], []]);
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

    test.each(['0', '101', '-1', '1.5', 'ten', '', ' ', '1&limit=2', 'NaN', '1e400', '-1e400'])(
      'rejects "%s"',
      async (limit) => {
        const response = await app.fetch(`${path}limit=${limit}`);
        expect(response.status).toBe(400);
        const { errors } = (await response.json()) as Problem;
        expect(new Set(errors.map(({ pointer }) => pointer))).toEqual(new Set(['?limit']));
      },
    );
  });
});

describe('The order', () => {
  test('is titles equal to the query first, then by popularity, with six steps for a title match', async () => {
    const spaces: Record<string, Space> = {};
    for (const [title, description] of [
      ['Tea ceremony', ''],
      ['Ceremony of tea', ''],
      ['The Way of Tea', 'Every ceremony is different.'],
      ['A teahouse and its ceremonial bowls', 'No tea ceremony without them.'],
      ['¡TEA, Ceremony!', ''],
      ['Kyoto', 'Tea ceremony and gardens.'],
      ['Ceremony with Tea', ''],
    ] as const) {
      spaces[title] = await createSpace(ann, { title, description });
    }
    await setParticipants(spaces['Tea ceremony'] as Space, 3);
    const equal = ['Tea ceremony', '¡TEA, Ceremony!'];
    const inTitle = ['Ceremony with Tea', 'Ceremony of tea'];
    const inDescription = ['A teahouse and its ceremonial bowls', 'The Way of Tea'];

    // Five steps more popular than those with one participant.
    await setParticipants(spaces.Kyoto as Space, 14);
    const typed = await foundAsTyped('tea ceremony');
    expect(typed).toEqual([...equal, ...inTitle, 'Kyoto', ...inDescription]);
    // Six steps more popular, so it ranks like the title matches: newest first.
    await setParticipants(spaces.Kyoto as Space, 15);
    const [newest, oldest] = inTitle;
    expect(await foundAsTyped('tea ceremony')).toEqual([
      ...[...equal, newest, 'Kyoto', oldest],
      ...inDescription,
    ]);
    await setParticipants(spaces['Ceremony of tea'] as Space, 2);
    expect(await foundAsTyped('tea ceremony')).toEqual([
      ...[...equal, oldest, newest, 'Kyoto'],
      ...inDescription,
    ]);
    // However popular, what matches only another query follows in the same order: the one without the stop word.
    const [typedOne, another] = inDescription;
    expect(await found('a tea ceremony')).toEqual([
      ...[typedOne, ...equal, oldest, newest],
      ...['Kyoto', another],
    ]);
  });

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

  test('changes when users join and leave', async () => {
    const [old, recent] = [
      await createSpace(ann, { title: 'Moving: old', tags: ['moving'] }),
      await createSpace(ann, { title: 'Moving: new', tags: ['moving'] }),
    ];
    const orders = async () => [await found('moving'), await tagged('moving')];
    const [newFirst, oldFirst] = [
      ['Moving: new', 'Moving: old'],
      ['Moving: old', 'Moving: new'],
    ];
    expect(await orders()).toEqual([newFirst, newFirst]);
    await setParticipants(old, 2);
    expect(await orders()).toEqual([oldFirst, oldFirst]);
    await setParticipants(recent, 3);
    expect(await orders()).toEqual([newFirst, newFirst]);
    await setParticipants(old, 4);
    expect(await orders()).toEqual([newFirst, newFirst]);
    await setParticipants(recent, 1);
    expect(await orders()).toEqual([oldFirst, oldFirst]);
    await setParticipants(old, 1);
    expect(await orders()).toEqual([newFirst, newFirst]);
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

describe('Every language', () => {
  /** Titles and descriptions. */
  const spaces = {
    'Gardening for beginners': 'Soil, seeds and patience.',
    'Who’s who?': 'Names, faces, and the who: songs.',
    'Wi-Fi help': 'Routers and repeaters.',
    'D&D on Fridays': 'Dragons, dice, dinner.',
    'Große Straße': 'Häuser, Höfe, Donau\u00ADdampf\u00ADschiffe.',
    'Café André': 'Crème brûlée et œufs.',
    'L’eau vive': 'Rivières, lacs et histoire de l’art.',
    'Col·lecció d’estiu': 'Platges i pobles.',
    'Łódź nocą': 'Zażółć gęślą jaźń.',
    'København på cykel': 'Broer og smørrebrød.',
    'Þórður og Æsa': 'Sögur að vestan.',
    'İstanbul’da yaşam': 'IŞIK ve deniz.',
    'Đà Nẵng': 'Phở và bánh mì ở Việt Nam.',
    Hawaiʻi: 'Aloha.',
    'Ελληνική κουζίνα': 'ΜΟΥΣΑΚΑΣ στην οδό Ερμού, προϊόντα.',
    'Ёлка и чай': 'Москва, Андрей и друзья.',
    'М’ята і липа': 'Їжа та напої.',
    'مُحَمَّد يقرأ': 'كتب ومكتبات ســلام.',
    'می‌خواهم بنویسم': 'داستان کوتاه.',
    'שָׁלוֹם לכולם': 'צה״ל ומוזיקה.',
    'हिन्दी सीखें': 'क़लम और काग़ज़।',
    'தமிழ் இலக்கியம்': 'கவிதை, கதை.',
    'বাংলা গান': 'রবীন্দ্রসংগীত।',
    'ქართული ენა': 'ანბანი.',
    'Հայոց լեզու': 'Այբուբեն։',
    'አማርኛ መማር': 'ፊደል።',
    'བོད་ཡིག': 'སློབ་སྦྱོང་།',
    เรียนภาษาไทยกัน: 'แม่น้ำเจ้าพระยา',
    ພາສາລາວ: 'ສະບາຍດີ',
    ភាសាខ្មែរ: 'សូម\u200Bស្វាគមន៍',
    မြန်မာစာ: 'စကားပြော',
    東京都の歴史: '江戸から今まで',
    京都東京の旅: '新幹線で二時間',
    西日本: '京都、東京都、大阪を巡る',
    'スター・ウォーズ': '機動戦士ガンダムも',
    机器学习课程: '从零开始，每周一次',
    iPhone手机壳: '列奥纳多·达·芬奇的画',
    '한국어를 배우자': '리액트React를 써요',
    K팝: '아이돌 이야기',
    'Modern C++': 'Templates; C# and .NET for comparison.',
    'Node.js at night': 'foo_bar, example.com and v1.2.',
    'COVID-19 diaries': 'Since 2020: 3.14 and 1,000 fans.',
    'Pride 🏳️‍🌈': 'Yes👍🏽! 🇫🇷🇩🇪 ❤️',
    'Women who code 👩🏾‍💻': 'Évery Tuesday.',
    'Ｆｕｌｌ　ｗｉｄｔｈ': 'ｶﾞﾝﾀﾞﾑ',
  } as const;

  let languages: TestApp;
  beforeAll(async () => {
    languages = await startApp();
    const user = await languages.register();
    for (const [title, description] of Object.entries(spaces)) {
      await createSpace(user, { title, description });
    }
  });
  afterAll(() => languages[Symbol.asyncDispose]());

  type Title = keyof typeof spaces;
  /** Each query finds exactly these spaces. */
  const rows: [language: string, query: string, ...found: Title[]][] = [
    ['English', 'garden', 'Gardening for beginners'],
    ['English', 'arden'],
    ['English', 'BEGINNERS soil', 'Gardening for beginners'],
    ['English', 'whos', 'Who’s who?'],
    ['English', "who's", 'Who’s who?'],
    ['English', 'wifi', 'Wi-Fi help'],
    ['English', 'wi fi', 'Wi-Fi help'],
    ['English', 'd&d', 'D&D on Fridays'],
    ['German', 'strasse', 'Große Straße'],
    ['German', 'GROẞE STRAẞE', 'Große Straße'],
    ['German', 'hofe', 'Große Straße'],
    ['German', 'donaudampf', 'Große Straße'],
    ['French', 'cafe andre', 'Café André'],
    ['French', 'oeuf', 'Café André'],
    ['French', 'CREME BRULEE', 'Café André'],
    ['French', 'eau', 'L’eau vive'],
    ['French', "l'histoire", 'L’eau vive'],
    ['Catalan', 'col·lecció', 'Col·lecció d’estiu'],
    ['Catalan', 'colleccio', 'Col·lecció d’estiu'],
    ['Polish', 'lodz noca', 'Łódź nocą'],
    ['Polish', 'zazolc gesla jazn', 'Łódź nocą'],
    ['Danish', 'kobenhavn smorrebrod', 'København på cykel'],
    ['Icelandic', 'thordur aesa', 'Þórður og Æsa'],
    ['Turkish', 'istanbul', 'İstanbul’da yaşam'],
    ['Turkish', 'ışık', 'İstanbul’da yaşam'],
    ['Turkish', 'ISIK', 'İstanbul’da yaşam'],
    ['Vietnamese', 'da nang', 'Đà Nẵng'],
    ['Vietnamese', 'Phở Việt'.normalize('NFD'), 'Đà Nẵng'],
    ['Hawaiian', "hawai'i", 'Hawaiʻi'],
    ['Hawaiian', 'hawaii', 'Hawaiʻi'],
    ['Greek', 'ελληνικη', 'Ελληνική κουζίνα'],
    ['Greek', 'μουσακας ΟΔΟ', 'Ελληνική κουζίνα'],
    ['Greek', 'προιοντα', 'Ελληνική κουζίνα'],
    ['Russian', 'елка', 'Ёлка и чай'],
    ['Russian', 'МОСКВ андреи', 'Ёлка и чай'],
    ['Russian', 'ква'],
    ['Ukrainian', "м'ята", 'М’ята і липа'],
    ['Ukrainian', 'їжа', 'М’ята і липа'],
    ['Arabic', 'محمد', 'مُحَمَّد يقرأ'],
    ['Arabic', 'سلام', 'مُحَمَّد يقرأ'],
    ['Persian', 'میخواهم', 'می‌خواهم بنویسم'],
    ['Hebrew', 'שלום', 'שָׁלוֹם לכולם'],
    ['Hebrew', 'צה"ל', 'שָׁלוֹם לכולם'],
    ['Hindi', 'हिन्दी', 'हिन्दी सीखें'],
    ['Hindi', 'क\u093Cलम', 'हिन्दी सीखें'],
    ['Hindi', 'कलम', 'हिन्दी सीखें'],
    ['Tamil', 'இலக்கிய', 'தமிழ் இலக்கியம்'],
    ['Bengali', 'রবীন্দ্র', 'বাংলা গান'],
    ['Georgian', 'ქართ', 'ქართული ენა'],
    ['Georgian', 'ᲥᲐᲠᲗᲣᲚᲘ', 'ქართული ენა'],
    ['Armenian', 'ՀԱՅՈՑ', 'Հայոց լեզու'],
    ['Amharic', 'አማርኛ', 'አማርኛ መማር'],
    ['Tibetan', 'ཡིག', 'བོད་ཡིག'],
    ['Thai', 'ไทย', 'เรียนภาษาไทยกัน'],
    ['Thai', 'น้ำ', 'เรียนภาษาไทยกัน'],
    ['Thai', 'ไทยภาษา'],
    ['Lao', 'ລາວ', 'ພາສາລາວ'],
    ['Khmer', 'ខ្មែរ', 'ភាសាខ្មែរ'],
    ['Khmer', 'សូមស្វាគមន៍', 'ភាសាខ្មែរ'],
    ['Burmese', 'စာ', 'မြန်မာစာ'],
    ['Japanese', '東京都', '東京都の歴史', '西日本'],
    ['Japanese', '京都', '京都東京の旅', '東京都の歴史', '西日本'],
    ['Japanese', '京都東京', '京都東京の旅'],
    ['Japanese', '都', '京都東京の旅', '東京都の歴史', '西日本'],
    ['Japanese', '歴史 江戸', '東京都の歴史'],
    ['Japanese', 'スターウォーズ', 'スター・ウォーズ'],
    ['Japanese', 'ウォーズスター'],
    ['Japanese', 'ガンダム', 'Ｆｕｌｌ　ｗｉｄｔｈ', 'スター・ウォーズ'],
    ['Chinese', '学习', '机器学习课程'],
    ['Chinese', '习学'],
    ['Chinese', 'iphone 手机', 'iPhone手机壳'],
    ['Chinese', '达芬奇', 'iPhone手机壳'],
    ['Korean', '한국', '한국어를 배우자'],
    ['Korean', '한국어'.normalize('NFD'), '한국어를 배우자'],
    ['Korean', '국어'],
    ['Korean', 'react', '한국어를 배우자'],
    ['Korean', 'k팝', 'K팝'],
    ['code', 'c++', 'Modern C++'],
    ['code', 'c#', 'Modern C++'],
    ['code', '.net', 'Modern C++'],
    ['code', 'f#'],
    ['code', 'nodejs', 'Node.js at night'],
    ['code', 'js', 'Node.js at night'],
    ['code', 'foo_bar', 'Node.js at night'],
    ['code', 'example.com', 'Node.js at night'],
    ['numbers', 'covid19', 'COVID-19 diaries'],
    ['numbers', '3.14', 'COVID-19 diaries'],
    ['numbers', '1000', 'COVID-19 diaries'],
    ['numbers', '2021'],
    ['emoji', '🏳️‍🌈', 'Pride 🏳️‍🌈'],
    ['emoji', '👍', 'Pride 🏳️‍🌈'],
    ['emoji', '🇩🇪', 'Pride 🏳️‍🌈'],
    ['emoji', '🇷🇩'],
    ['emoji', '❤', 'Pride 🏳️‍🌈'],
    ['emoji', '👩‍💻', 'Women who code 👩🏾‍💻'],
    ['emoji', '💻', 'Women who code 👩🏾‍💻'],
    ['full width', 'full width', 'Ｆｕｌｌ　ｗｉｄｔｈ'],
    ['full width', 'ｗｏｍｅｎ　ｅｖｅｒｙ', 'Women who code 👩🏾‍💻'],
  ];

  test.each(rows)('%s: %s finds %s', async (_language, q, ...expected) => {
    const options = { client: languages.client(), throwOnError: true } as const;
    const query = { q, limit: 100 };
    const { data: typed } = await api.searchSpaces({
      ...options,
      query: { ...query, as_typed: true },
    });
    expect(new Set(titles(typed))).toEqual(new Set(expected));
    const { data: all } = await api.searchSpaces({ ...options, query });
    expect(all.slice(0, typed.length)).toEqual(typed);
  });
});

describe('A run of an unspaced script', () => {
  test('is found by its characters in the same order', async () => {
    for (const [title, description] of [
      ['南北町', 'A town.'],
      ['北町南北', 'Its parts in another order.'],
      ['北町と南北', 'Its parts.'],
      ['北町南北。', 'In the title wrong, in the description right: 南北町.'],
      ['Town', '北町南北'],
      ['Village', 'Near 大南北町通り'],
      ['南北町通り', ''],
    ] as const) {
      await createSpace(ann, { title, description });
    }
    const expected = ['南北町', '南北町通り', 'Village', '北町南北。'];
    expect(await foundAsTyped('南北町')).toEqual(expected);
    const path = '/api/spaces/search?as_typed=true&q=南北町&limit=1';
    const pages = await readPages<SearchResult>(app, path);
    expect(pages.flatMap(titles)).toEqual(expected);
    expect(await foundAsTyped('南北町 town')).toEqual(['南北町']);
    expect(await foundAsTyped('town 南北町')).toEqual(['南北町']);
    expect(await foundAsTyped('北町南')).toEqual(['北町南北。', '北町南北', 'Town']);
    // Without as_typed, spaces with its words in any order follow.
    const others = ['北町と南北', '北町南北', 'Town'];
    expect(await found('南北町')).toEqual([...expected, ...others]);
    const allPages = await readPages<SearchResult>(app, '/api/spaces/search?q=南北町&limit=1');
    expect(allPages.flatMap(titles)).toEqual([...expected, ...others]);
  });
});
