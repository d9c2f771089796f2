import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Dictionary } from '../../server/search/dictionary/dictionary.ts';
import { trieFromBytes, trieToBytes } from '../../server/search/dictionary/trie.ts';
import { interpretAsMeant } from '../../server/search/rules/as-meant.ts';
import { estimateDocuments } from '../../server/search/rules/fewer-words.ts';
import { inflectionsOf } from '../../server/search/rules/other-forms.ts';
import { queryWords } from '../../server/text/words/query.ts';
import { dictionaryOf } from './dictionary/dictionary-of.ts';

const other = (dictionary: Dictionary, query: string) =>
  interpretAsMeant(dictionary, queryWords(query))?.words.map(([texts]) => texts);

describe('interpretAsMeant', () => {
  test('returns undefined for known words', async () => {
    const dictionary = await dictionaryOf({ bread: 100, oven: 10, breed: 100 });
    expect(other(dictionary, 'bread')).toBeUndefined();
    expect(other(dictionary, 'bread oven')).toBeUndefined();
  });

  test('returns undefined for unknown words without similar ones', async () => {
    const dictionary = await dictionaryOf({ bread: 100 });
    expect(other(dictionary, 'zuk')).toBeUndefined();
    expect(other(dictionary, 'zuk bread')).toBeUndefined();
  });

  test('drops stop words, unless only stop words or unknown words remain', async () => {
    const dictionary = await dictionaryOf({ bread: 100, the: 900 });
    expect(other(dictionary, 'the bread')).toEqual([['bread']]);
    expect(other(dictionary, 'the who')).toBeUndefined();
  });

  describe('corrects', () => {
    test('a word within one edit, and keeps it as the last alternative', async () => {
      const dictionary = await dictionaryOf({ crumb: 100 });
      for (const typed of ['curmb', 'crub', 'crumbb', 'crulb']) {
        expect([typed, other(dictionary, typed)]).toEqual([typed, [['crumb', typed]]]);
      }
      expect(other(dictionary, 'crb')).toBeUndefined();
      expect(other(dictionary, 'cxulb')).toBeUndefined();
    });

    test('a word of eight letters or more within two edits', async () => {
      const dictionary = await dictionaryOf({ sourdough: 100, kitchen: 100 });
      expect(other(dictionary, 'soudrouhg')).toEqual([['sourdough', 'soudrouhg']]);
      expect(other(dictionary, 'sourduff')).toBeUndefined();
      expect(other(dictionary, 'ktichem')).toBeUndefined();
    });

    test('the first letter at the cost of two edits', async () => {
      const dictionary = await dictionaryOf({ bread: 100, sourdough: 100 });
      expect(other(dictionary, 'dread')).toBeUndefined();
      expect(other(dictionary, 'zourdough')).toEqual([['sourdough', 'zourdough']]);
      expect(other(dictionary, 'zourdougx')).toBeUndefined();
    });

    test('words with digits, but not numbers, short words or runs of scripts without spaces', async () => {
      const dictionary = await dictionaryOf({ covid19: 100, '20261': 100, abc: 100, 东京都: 100 });
      expect(other(dictionary, 'covid18')).toEqual([['covid19', 'covid18']]);
      expect(other(dictionary, '20262')).toBeUndefined();
      expect(other(dictionary, 'abd')).toBeUndefined();
      expect(other(dictionary, '东京郡')?.flat()).not.toContain('东京都');
    });

    test('a known word only to a word in at least twenty times as many spaces', async () => {
      const known = (bread: number) => dictionaryOf({ bread, bresd: 5 });
      expect(other(await known(99), 'bresd')).toBeUndefined();
      expect(other(await known(100), 'bresd')).toEqual([['bread', 'bresd']]);
    });

    test('a known word by its frequency as a prefix', async () => {
      expect(
        other(await dictionaryOf({ bread: 1, breads: 99, bresd: 2, bresds: 3 }), 'bresd'),
      ).toEqual([['bread', 'bresd']]);
      expect(
        other(await dictionaryOf({ bread: 50, bresd: 2, bresds: 3 }), 'bresd'),
      ).toBeUndefined();
    });

    test('to the nearest word, regardless of the frequency of others', async () => {
      const dictionary = await dictionaryOf({ sourdough: 1, sourdoughs: 1, soundough: 900 });
      expect(other(dictionary, 'sourdouhg')?.[0]?.[0]).toBe('sourdough');
    });

    test('a word to the most frequent of the nearest words, or the first in alphabetical order', async () => {
      const known = (clamp: number, clump: number) => dictionaryOf({ clamp, clump });
      expect(other(await known(10, 30), 'clxmp')).toEqual([['clump', 'clxmp']]);
      expect(other(await known(10, 10), 'clxmp')).toEqual([['clamp', 'clxmp']]);
    });
  });

  describe('splits', () => {
    test('an unknown word into two known ones', async () => {
      const dictionary = await dictionaryOf({ fast: 10, api: 20 });
      expect(other(dictionary, 'fastapi')).toEqual([['fast api', 'fastapi']]);
      expect(other(dictionary, 'fastapx')).toBeUndefined();
    });

    test('a word where its rarer part is most frequent', async () => {
      const dictionary = await dictionaryOf({ nigh: 90, tclub: 5, night: 20, club: 30 });
      expect(other(dictionary, 'nightclub')).toEqual([['night club', 'nightclub']]);
    });

    test('a known word only if both parts are in twenty times as many spaces', async () => {
      const known = (fast: number) => dictionaryOf({ fast, api: 500, fastapi: 5 });
      expect(other(await known(99), 'fastapi')).toBeUndefined();
      expect(other(await known(100), 'fastapi')).toEqual([['fast api', 'fastapi']]);
    });

    test('a word only into parts of at least two letters', async () => {
      const dictionary = await dictionaryOf({ a: 500, tom: 500, at: 500, om: 500 });
      expect(other(dictionary, 'atom')).toEqual([['at om', 'atom']]);
      expect(other(dictionary, 'tom')).toBeUndefined();
    });

    test('only words typed without separators, because the parts of others match anyway', async () => {
      const dictionary = await dictionaryOf({ fast: 10, api: 20 });
      expect(other(dictionary, 'fast-api')).toBeUndefined();
    });

    test('a word only into parts with the minimum number of spaces', async () => {
      const dictionary = await dictionaryOf({ fast: 10, api: 20 }, { minDocuments: 11 });
      expect(other(dictionary, 'fastapi')).toBeUndefined();
    });
  });

  test('puts corrections first, then parts, then the word as typed, then its other forms', async () => {
    const dictionary = await dictionaryOf({
      sourdoughy: 100,
      sour: 100,
      doughing: 100,
      sourdoughed: 1,
    });
    expect(interpretAsMeant(dictionary, queryWords('sourdoughing'))?.words).toEqual([
      [['sour doughing', 'sourdoughing'], ['sourdoughed']],
    ]);
    expect(other(dictionary, 'sourdoughx')).toEqual([['sourdoughy', 'sourdoughx']]);
  });

  test('returns undefined for words whose only alternatives are inflected forms', async () => {
    const dictionary = await dictionaryOf({ library: 100 });
    expect(other(dictionary, 'libraries')).toBeUndefined();
    expect(inflectionsOf(dictionary, 'libraries')).toEqual(['library']);
  });

  test('splits a run of an unspaced script into words', async () => {
    const dictionary = await dictionaryOf({});
    expect(other(dictionary, '東京公園')).toEqual([['东京 公园', '东京公园']]);
    expect(other(dictionary, '公園')).toBeUndefined();
  });

  test('divides a run into the words that are searched for: the first twelve distinct ones', async () => {
    const words = '面包 烘焙 天气 学校 电脑 音乐 电影 老师 学生 朋友 医院 飞机 银行 超市'.split(
      ' ',
    );
    const dictionary = await dictionaryOf({});
    const [texts] = other(dictionary, `面包${words.join('')}`) ?? [];
    expect(texts).toEqual([words.slice(0, 12).join(' '), `面包${words.join('')}`]);
  });

  test('does not separate the parts of a compound word', async () => {
    const dictionary = await dictionaryOf({ crumb: 100 });
    expect(other(dictionary, 'wi-fi curmb')).toEqual([['wi-fi'], ['crumb', 'curmb']]);
    expect(other(dictionary, 'c++17 curmb')).toEqual([['c++17'], ['crumb', 'curmb']]);
  });

  test('corrects the rarest words first, up to its cost limit', async () => {
    // With all 8-letter words over four letters in the dictionary, correcting twelve words exceeds the limit.
    const letters = [...'abcd'];
    let words = [''];
    for (let i = 0; i < 8; i += 1) {
      words = words.flatMap((word) => letters.map((each) => word + each));
    }
    const typed = words
      .filter((_, i) => i % 5_000 === 0)
      .slice(0, 12)
      .map((word) => `${word}ab`);
    const [known = ''] = typed;
    const dictionary = await dictionaryOf({
      ...Object.fromEntries(words.map((word) => [word, 100])),
      [known]: 1,
    });
    const corrected = other(dictionary, typed.join(' '))?.map(({ length }) => length > 1);
    expect(corrected?.slice(0, 2)).toEqual([false, true]);
    expect(other(dictionary, known)?.[0]?.length).toBeGreaterThan(1);
  });

  const unit = fc.constantFrom(
    'bread',
    'braed',
    'the',
    'sour',
    'dough',
    'sourdough',
    'a',
    '東京都',
    'wi-fi',
    'x',
    'libraries',
    'brad',
    'boxts',
    'covid18',
  );
  const query = fc.array(unit, { minLength: 1, maxLength: 8 }).map((units) => units.join(' '));

  test('is deterministic, ignores case and includes the typed words', async () => {
    const dictionary = await dictionaryOf({
      bread: 90,
      brand: 80,
      sour: 30,
      dough: 40,
      boats: 9,
      boots: 9,
    });
    const stored = { ...dictionary, trie: trieFromBytes(trieToBytes(dictionary.trie)) };
    fc.assert(
      fc.property(query, (text) => {
        const found = other(dictionary, text);
        expect(other(stored, text)).toEqual(found);
        expect(other(dictionary, text.toUpperCase())).toEqual(found);
        if (!found) return;
        expect(found.length).toBeGreaterThan(0);
        const typed = queryWords(text).map(({ word }) => word);
        for (const texts of found) {
          expect(new Set(texts).size).toBe(texts.length);
          expect(typed).toContain(queryWords(texts.at(-1) as string)[0]?.word);
        }
      }),
    );
  });
});

test('estimateDocuments returns the number of spaces with the rarest word of a text, or with the rarest bigram', async () => {
  const dictionary = await dictionaryOf({ bread: 90, breads: 5, oven: 10, 图书: 20, 书馆: 9 });
  expect(estimateDocuments(dictionary, 'bread')).toBe(95);
  expect(estimateDocuments(dictionary, 'bread oven')).toBe(10);
  expect(estimateDocuments(dictionary, 'bread zuk')).toBe(0);
  expect(estimateDocuments(dictionary, '图书馆')).toBe(9);
});
