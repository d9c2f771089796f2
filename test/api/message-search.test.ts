import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Space } from '../../generated/types.gen.ts';
import { importRecords } from '../../server/import-export/import.ts';
import { countUnexamined, indexMessages } from '../../server/message-words/indexing.ts';
import { searchMessages } from '../../server/messages/search.ts';
import type { Position } from '../../server/pagination.ts';
import { matches, queryWords, SplitText } from '../../server/text/words/query.ts';
import { withCallbackAfterQuery } from '../support/after-query.ts';
import type { TestUser } from '../support/client.ts';
import { assertWordsIndexed, finishErasure } from '../support/consistency.ts';
import { getError } from '../support/errors.ts';
import { toLines } from '../support/ndjson.ts';
import { readPages } from '../support/pages.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
let ben: TestUser;
let stranger: Pick<TestUser, 'client'>;

beforeAll(async () => {
  ann = await app.register('ann');
  ben = await app.register('ben');
  stranger = { client: app.client() };
});

let space: Space;
beforeEach(async () => {
  space = await createSpace(ann);
  await joinSpace(ben, space);
});

const search = async (q: string, { client }: Pick<TestUser, 'client'> = stranger) => {
  const query = { space_id: space.space_id, q, limit: 100 };
  return (await api.listMessages({ client, query, throwOnError: true })).data;
};

const find = async (q: string) => (await search(q)).items.map(({ text }) => text);

/** Reads all pages. */
const findAll = async (q: string, limit: number) => {
  const query = new URLSearchParams({ space_id: space.space_id, q, limit: String(limit) });
  return readPages<Message>(app, `/api/messages?${query}`);
};

const readAll = async () => {
  const query = new URLSearchParams({ space_id: space.space_id, limit: '100' });
  return (await readPages<Message>(app, `/api/messages?${query}`)).flat();
};

/** Indexes all messages, in small steps. */
const indexAll = async (maxTransactionMessages = 3) => {
  const limits = { minMessages: 1, maxTransactionMessages, maxRunMs: 60_000 };
  expect(await indexMessages(app.context.engine, undefined, limits)).toBe(true);
};

const edit = ({ client }: TestUser, { message_id }: Message, text: string) =>
  api.editMessage({ client, path: { message_id }, body: { text }, throwOnError: true });

const remove = ({ client }: TestUser, { message_id }: Message) =>
  api.deleteMessage({ client, path: { message_id }, throwOnError: true });

/** Imports messages of ben, the first one at a time and the others `stepMs` later each. */
const importMessages = (texts: readonly string[], start: string, stepMs: number) =>
  importRecords(
    app.context.engine,
    toLines(
      texts.map((text, i) => ({
        type: 'message',
        message_id: `${space.space_id.slice(0, 8)}-${start.slice(0, 10)}-${i}`,
        space_id: space.space_id,
        author_id: ben.userId,
        text,
        created_at: new Date(Date.parse(start) + i * stepMs).toISOString(),
      })),
    ),
  );

const numberOfWords = async () => {
  const { db } = app.context.engine;
  const { count } = await db
    .selectFrom('message_words')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
};

describe.each(['read as texts', 'indexed'])('A search in messages that are %s', (state) => {
  const prepare = async (...texts: string[]) => {
    for (const text of texts) await sendMessage(ben, space, text);
    if (state === 'indexed') await indexAll();
  };

  test.each([
    ['élan vital', 'ELAN'],
    ['The dough is sticky', 'dou'],
    ['The dough is sticky', 'sticky dough'],
    ['We use node.js here', 'nodejs'],
    ['明日は東京都へ', '京都'],
    ['Try c++ or c#', 'c#'],
  ])('finds "%s" with %s', async (text, q) => {
    await prepare(text, 'Something else');
    expect(await find(q)).toEqual([text]);
  });

  test.each([
    ['The dough is sticky', 'duogh'],
    ['The dough is sticky', 'dough dry'],
    ['京都と東京', '東京都'],
    ['The dough is sticky', '?!'],
    ['The dough is sticky', ''],
  ])('does not find "%s" with "%s"', async (text, q) => {
    await prepare(text);
    expect(await find(q)).toEqual([]);
  });

  test('finds phrases in quotation marks only as they are', async () => {
    const texts = ['A wet dough', 'Dough, wet as rain', 'Wet, doughy bread', 'WET   Dough!'];
    await prepare(...texts);
    expect(await find('"wet dough"')).toEqual(['WET   Dough!', 'A wet dough']);
    expect(await find('“wet dough” a')).toEqual(['A wet dough']);
    expect(await find('wet dough')).toEqual(texts.toReversed());
    expect(await find('wet doughy "?!"')).toEqual(['Wet, doughy bread']);
    await prepare('明日は東京都へ');
    expect(await find('"東京"')).toEqual(['明日は東京都へ']);
  });

  test.each([
    ['L’école primaire', '"école primaire"'],
    ['Wi-Fi works', '"wi fi"'],
    ['wi fi works', '"wi-fi works"'],
    ['State-of-the-art works', '"the art works"'],
    ['We use node.js and Wi-Fi', '"nodejs and wi fi"'],
    ['About 3.14-ish', '"3.14"'],
    ['الكتاب جديد', '"كتاب جديد"'],
  ])('finds "%s" with the phrase %s', async (text, q) => {
    await prepare(text, 'Something else');
    expect(await find(q)).toEqual([text]);
  });

  test.each([
    ['A therapist', '"the rapist"'],
    ['Connect an airport', '"con air"'],
    ['Rock and roll', '"rock roll"'],
    ['About 3.14', '"3 14"'],
  ])('does not find "%s" with the phrase %s', async (text, q) => {
    await prepare(text);
    expect(await find(q)).toEqual([]);
  });

  test('indexes and deletes long messages in several transactions', async () => {
    const words = Array.from({ length: 12 }, (_, i) => `${i}word`);
    for (const word of words) await sendMessage(ben, space, `${word} ${'茶'.repeat(1_800)}`);
    await indexAll(100);
    const { db } = app.context.engine;
    const indexed = await db.selectFrom('indexed_messages').select('message_id').execute();
    const [last] = await readAll();
    expect(indexed.map(({ message_id }) => message_id)).toContain(last?.message_id);
    await assertWordsIndexed(db);
    await api.deleteSpace({ client: ann.client, path: space, throwOnError: true });
    await finishErasure(app.context.engine);
    await assertWordsIndexed(db);
  });

  test('finds the new text of an edited message, not the former one, and no deleted message', async () => {
    await prepare('First draft', 'Second draft', 'Third draft');
    const [third, second] = await readAll();
    await edit(ben, second as Message, 'Final version');
    await remove(ben, third as Message);
    expect(await find('draft')).toEqual(['First draft']);
    expect(await find('version')).toEqual(['Final version']);
    await assertWordsIndexed(app.context.engine.db);
  });

  test('is possible only for readers of a private space', async () => {
    await prepare('A secret');
    const visibility = 'private' as const;
    const path = { space_id: space.space_id };
    await api.updateSpace({ client: ann.client, path, body: { visibility }, throwOnError: true });
    expect((await search('secret', ben)).items).toHaveLength(1);
    const query = { space_id: space.space_id, q: 'secret' };
    expect(await getError(api.listMessages({ ...stranger, query }))).toBe('404 space_not_found');
  });

  test('returns the same items as the list of messages', async () => {
    await prepare('Tea', 'Coffee');
    const [coffee] = await readAll();
    expect((await search('coffee')).items).toEqual([coffee]);
  });
});

describe('listMessages with q', () => {
  test.each([
    ['around', { around: 'x' }],
    ['after', { after: 'x' }],
    ['wait', { after: 'x', wait: '1' }],
  ])('rejects %s', async (_, others) => {
    const query = new URLSearchParams({ space_id: space.space_id, q: 'tea', ...others });
    const response = await app.fetch(`/api/messages?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      errors: [{ in: 'query', code: 'conflicting', message: 'must not be used together with q' }],
    });
  });

  test('has a newer_cursor that follows the whole space', async () => {
    await sendMessage(ben, space, 'Tea');
    const { newer_cursor: after } = await search('tea');
    const sent = await sendMessage(ben, space, 'Coffee');
    const query = { space_id: space.space_id, after };
    const { data } = await api.listMessages({ ...stranger, query, throwOnError: true });
    expect(data.items).toEqual([sent]);
  });
});

describe('The index of messages', () => {
  /** The parts of each word of the random texts, by hand, so that tests of phrases do not depend on the code under test. */
  const PARTS: Record<string, readonly string[]> = {
    ...{ tea: ['tea'], Teatime: ['teatime'], team: ['team'], a: ['a'], 'node.js': ['node', 'js'] },
    ...{ 'C++': ['c++'], 'l’eau': ['l', 'eau'], ЁЛКА: ['елка'], élan: ['elan'], fi: ['fi'] },
    ...{
      'wi-fi': ['wi', 'fi'],
      한국어: ['한국어'],
      हिन्दी: ['हिन्दी'],
      '3.14': ['3.14'],
      empty: ['empty'],
    },
    ...{
      '"quoted"': ['quoted'],
      '🫖': ['🫖'],
      '!': [],
      東京都: ['東京都'],
      京都東京: ['京都東京'],
    },
    ...{ 京: ['京'], ภาษาไทย: ['ภาษาไทย'] },
  };
  const partsOf = (text: string) => text.split(' ').flatMap((each) => PARTS[each] as string[]);
  const hasPhrase = (text: string, phrase: readonly string[]) =>
    ` ${partsOf(text).join(' ')} `.includes(` ${phrase.join(' ')} `);
  /** A phrase that one of the texts has, and its parts in the other order. */
  const drawPhrases = (texts: readonly string[], start: number) => {
    const parts = partsOf(texts[start % texts.length] ?? 'empty');
    const phrase = parts.slice(start % 3, (start % 3) + 2 + (start % 2));
    // A phrase can begin or end within a run of these scripts.
    const isUnspaced = /[\p{sc=Hani}\p{sc=Thai}]/v.test(phrase.join(''));
    return phrase.length === 0 || isUnspaced ? [] : [phrase, phrase.toReversed()];
  };
  const word = fc.constantFrom(...Object.keys(PARTS).filter((each) => each !== 'empty'));
  const words = fc.oneof(
    { weight: 9, arbitrary: fc.array(word, { maxLength: 6 }) },
    { weight: 1, arbitrary: fc.array(word, { minLength: 100, maxLength: 150 }) },
  );
  const text = words.map((each) => each.join(' ') || 'empty');
  const choice = fc.nat();
  const operation = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('send' as const), text }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('edit' as const), choice, text }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), choice }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('index' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('import' as const), texts: fc.array(text) }),
    },
  );
  const queries = ['tea', 'te', 't', 'a', 'team tea', 'node', 'c++', 'eau', 'ёлка', 'wi-fi', 'fi'];
  const unspaced = [
    '京都',
    '東京都',
    '京',
    'ภาษา',
    '한국',
    'हिन्',
    '🫖 tea',
    '3',
    'quoted',
    'empty',
  ];

  test('finds what a scan of all texts finds, after random operations', async () => {
    let foundPhrases = 0;
    for (const [i, each] of fc.sample(operation, { seed: 5, numRuns: 80 }).entries()) {
      if (each.kind === 'send') await sendMessage(ben, space, each.text);
      else if (each.kind === 'index') await indexAll();
      else if (each.kind === 'import') {
        // Some times are equal, and some are before those of indexed messages.
        await importMessages(each.texts, `${1960 + (i % 60)}-01-01T00:00:00.000Z`, i % 2);
      } else {
        const messages = await readAll();
        const message = messages[each.choice % Math.max(1, messages.length)];
        if (!message) continue;
        if (each.kind === 'delete') await remove(ben, message);
        else await edit(ben, message, each.text);
      }
      if (i % 10 < 9) continue;
      await assertWordsIndexed(app.context.engine.db);
      const messages = await readAll();
      for (const q of [...queries, ...unspaced]) {
        const expected = messages.filter((message) =>
          matches(queryWords(q), new SplitText(message.text)),
        );
        expect((await findAll(q, 7)).flat(), q).toEqual(expected);
      }
      const texts = messages.map((message) => message.text);
      const phrases = Array.from({ length: 8 }, (_, k) => drawPhrases(texts, i + 7 * k)).flat();
      for (const [k, phrase] of phrases.entries()) {
        const others = ['', ' "?!"', ' te'][k % 3] as string;
        const expected = messages.filter(
          (each) => hasPhrase(each.text, phrase) && (others !== ' te' || /tea/i.test(each.text)),
        );
        const q = `"${phrase.join(' ')}"${others}`;
        expect((await findAll(q, 7)).flat(), q).toEqual(expected);
        foundPhrases += expected.length;
      }
    }
    expect(foundPhrases).toBeGreaterThan(100);
    expect(await numberOfWords()).toBeGreaterThan(100);
  });

  // More than the lists of a word that a search reads to their ends, and more words than it reads lists of.
  test('finds frequent words, rare ones and their combinations in a long space', async () => {
    const texts = Array.from({ length: 3_300 }, (_, i) =>
      [
        `w${i % 700}x common`,
        ...(i % 2 ? [`odd variety${(i * i) % 23}`] : ['even']),
        ...(i % 3 ? [] : ['third']),
        ...(i % 1_000 === 7 ? ['rare'] : []),
        `za${i % 97} zb${i % 89} zc${i % 83} zd${i % 79}`,
        ...(i < 1_100 ? [`inc${10_000 + i}`] : []),
      ].join(' '),
    );
    await importMessages(texts, '2020-01-01T00:00:00.000Z', 1_000);
    expect((await findAll('rare', 20)).flat()).toHaveLength(4);
    await indexAll(100);
    const newestFirst = texts.toReversed();
    const cases: [string, (text: string) => boolean][] = [
      ['common', () => true],
      ['w', () => true],
      ['variety', (text) => text.includes('odd')],
      ['third variety', (text) => text.includes('odd') && text.includes('third')],
      ['comm odd', (text) => text.includes('odd')],
      ['even odd', () => false],
      ['rare', (text) => text.includes('rare')],
      ['rare even', () => false],
      ['w69', (text) => text.startsWith('w69')],
      ['rar w', (text) => text.includes('rare')],
      ['z', () => true],
      ['odd z', (text) => text.includes('odd')],
      ['inc z', (text) => text.includes('inc')],
      ['"common odd"', (text) => text.includes('odd')],
      ['"za7 zb7"', (text) => text.includes('za7 zb7 ')],
    ];
    for (const [q, isExpected] of cases) {
      const found = (await findAll(q, 100)).flat().map((message) => message.text);
      expect(found, q).toEqual(newestFirst.filter(isExpected));
    }
    // Not one page for each part of the space without a match.
    expect((await findAll('inc1', 100)).map((page) => page.length)).toEqual(Array(11).fill(100));
  });

  test('has no times with a sign, of years that older versions imported', async () => {
    await sendMessage(ben, space, 'Present tea');
    await importMessages(['Zero tea'], '0000-01-01T00:00:00.000Z', 0);
    const { db } = app.context.engine;
    for (const [i, created_at] of [
      '+010000-01-01T00:00:00.000Z',
      '-000001-01-01T00:00:00.000Z',
    ].entries()) {
      const sent = await sendMessage(ben, space, `Tea with sign ${i}`);
      await db
        .updateTable('messages')
        .set({ created_at })
        .where('message_id', '=', sent.message_id)
        .execute();
    }
    const expected = ['Present tea', 'Zero tea', 'Tea with sign 1', 'Tea with sign 0'];
    // Not over HTTP, because these times do not match the contract.
    const findPages = async (limit: number) => {
      const texts: string[] = [];
      let position: Position | null | undefined;
      do {
        const request = { limit, ...(position && { position }) };
        const page = await searchMessages(app.context, null, space.space_id, 'tea', request);
        texts.push(...page.items.map(({ text }) => text));
        position = page.next;
      } while (position);
      return texts;
    };
    expect(await findPages(1)).toEqual(expected);
    await indexAll();
    expect(await findPages(1)).toEqual(expected);
    expect(await findPages(100)).toEqual(expected);
    await assertWordsIndexed(db);
    await api.deleteSpace({ client: ann.client, path: space, throwOnError: true });
    await finishErasure(app.context.engine);
  });

  test('is searched again without the index if a repair empties it meanwhile', async () => {
    for (const text of ['tea', 'Other', 'tea']) await sendMessage(ben, space, text);
    await indexAll();
    const { engine } = app.context;
    let queries = 0;
    const db = withCallbackAfterQuery(engine.db, async () => {
      queries += 1;
      // After the query that reads the end of the index.
      if (queries !== 4) return;
      for (const table of ['indexed_messages', 'message_words'] as const)
        await engine.db.deleteFrom(table).execute();
    });
    const context = { ...app.context, engine: { ...engine, db } };
    const { items } = await searchMessages(context, null, space.space_id, 'tea', { limit: 10 });
    expect(items.map(({ text }) => text)).toEqual(['tea', 'tea']);
    await engine.db.updateTable('message_index').set({ examined_pk: 0 }).execute();
  });

  test('counts the messages to examine, and not keys without a message', async () => {
    await indexAll();
    const { db } = app.context.engine;
    expect(await countUnexamined(db)).toBe(0);
    const { message_id } = await sendMessage(ben, space, 'Last');
    const moveBy = (keys: number) =>
      db
        .updateTable('messages')
        .set(({ eb }) => ({ pk: eb('pk', '+', keys) }))
        .where('message_id', '=', message_id)
        .execute();
    await moveBy(1_000);
    expect(await countUnexamined(db)).toBe(1);
    // On PostgreSQL, later messages would get lower keys.
    await moveBy(-1_000);
    await indexAll();
  });

  test('reads a limited number of messages for a page, and continues with the next one', async () => {
    const texts = Array.from({ length: 2_500 }, (_, i) => (i === 0 ? 'needle' : 'hay '.repeat(20)));
    await importMessages(texts, '2020-01-01T00:00:00.000Z', 1_000);
    const pages = await findAll('needle', 20);
    expect(pages.flat()).toHaveLength(1);
    expect(pages.length).toBeGreaterThan(2);
    await indexAll(100);
    expect(await findAll('needle', 20)).toEqual([[expect.objectContaining({ text: 'needle' })]]);
  });

  test('has no words of deleted spaces and accounts', async () => {
    const before = await numberOfWords();
    const carl = await app.register();
    await joinSpace(carl, space);
    await sendMessage(carl, space, 'By carl');
    await sendMessage(ben, space, 'By ben');
    await indexAll();
    await api.deleteAccount({ client: carl.client, throwOnError: true });
    await finishErasure(app.context.engine);
    expect(await find('by')).toEqual(['By ben']);
    await assertWordsIndexed(app.context.engine.db);
    const path = { space_id: space.space_id };
    await api.deleteSpace({ client: ann.client, path, throwOnError: true });
    await finishErasure(app.context.engine);
    expect(await numberOfWords()).toBe(before);
  });

  test('continues where it was interrupted', async () => {
    await indexAll();
    await importMessages(['one', 'two', 'three', 'four'], '2020-01-01T00:00:00.000Z', 1_000);
    const { engine } = app.context;
    const before = await numberOfWords();
    const stopping = new AbortController();
    stopping.abort();
    const limits = { minMessages: 1, maxTransactionMessages: 1 };
    expect(await indexMessages(engine, stopping.signal, limits)).toBe(false);
    expect(await indexMessages(engine, undefined, { ...limits, maxRunMs: 0 })).toBe(false);
    await indexAll();
    expect(await numberOfWords()).toBe(before + 4);
    await assertWordsIndexed(engine.db);
  });
});
