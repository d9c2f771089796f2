import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Dictionary } from '../../server/search/dictionary/dictionary.ts';
import { trieFromBytes, trieToBytes } from '../../server/search/dictionary/trie.ts';
import type { Alternative } from '../../server/search/interpretation.ts';
import { interpretAsMeant } from '../../server/search/interpretations.ts';
import { withBeginnings } from '../../server/search/rules/beginnings.ts';
import { estimateDocuments, withFewerWords } from '../../server/search/rules/fewer-words.ts';
import { findJoins } from '../../server/search/rules/joined-words.ts';
import { inflectionsOf } from '../../server/search/rules/other-forms.ts';
import { findShorterNames } from '../../server/search/rules/shorter-names.ts';
import { findOptionalWords } from '../../server/search/rules/stop-words.ts';
import { queryWords } from '../../server/text/words/query.ts';
import { dictionaryOf } from './dictionary/dictionary-of.ts';

const joins = (dictionary: Dictionary, query: string) => findJoins(dictionary, queryWords(query));
const other = (dictionary: Dictionary, query: string) =>
  interpretAsMeant(dictionary, queryWords(query))?.words.map(([texts]) => texts);

describe('findOptionalWords', () => {
  const optional = (dictionary: Dictionary, query: string) =>
    findOptionalWords(dictionary, queryWords(query));

  test('finds stop words that at least 2% of the spaces contain', async () => {
    const dictionary = await dictionaryOf(
      { router: 5, vue: 3, for: 20, the: 19 },
      { spaces: 1_000 },
    );
    expect(optional(dictionary, 'router for vue')).toEqual([1]);
    expect(optional(dictionary, 'for the router vue')).toEqual([0]);
    expect(optional(dictionary, 'the router vue')).toEqual([]);
  });

  test('finds none if fewer than two words remain', async () => {
    const dictionary = await dictionaryOf({ for: 20 }, { spaces: 1_000 });
    expect(optional(dictionary, 'for vue')).toEqual([]);
    expect(optional(dictionary, 'for the')).toEqual([]);
  });

  test('never finds the last word', async () => {
    const dictionary = await dictionaryOf({ for: 20 }, { spaces: 1_000 });
    expect(optional(dictionary, 'router vue for')).toEqual([]);
  });
});

describe('findJoins', () => {
  test('finds adjacent words that form a known word or its prefix', async () => {
    const dictionary = await dictionaryOf({ sourdough: 5, fastapis: 3 });
    expect(joins(dictionary, 'bake sour dough')).toEqual([1]);
    expect(joins(dictionary, 'fast api')).toEqual([0]);
    expect(joins(dictionary, 'dough sour')).toEqual([]);
    expect(joins(dictionary, 'sour sweet dough')).toEqual([]);
    expect(joins(dictionary, 'sourdough')).toEqual([]);
  });

  test('finds the two most frequent pairs, in query order; the earlier of equally frequent ones', async () => {
    const dictionary = await dictionaryOf({ aabb: 1, ccdd: 9, eeff: 5, gghh: 5 });
    expect(joins(dictionary, 'aa bb cc dd ee ff gg hh')).toEqual([2, 4]);
    expect(joins(dictionary, 'gg hh ee ff aa bb')).toEqual([0, 2]);
  });

  test('finds three adjacent words that form a known word', async () => {
    const dictionary = await dictionaryOf({ html2canvas: 5, wordpress: 3 });
    expect(joins(dictionary, 'an html 2 canvas')).toEqual([1, 2]);
    expect(joins(dictionary, 'html 2 canvas word press')).toEqual([0, 1]);
    expect(joins(dictionary, 'html canvas 2')).toEqual([]);
    const pairsFirst = await dictionaryOf({ html2canvas: 5, wordpress: 9 });
    expect(joins(pairsFirst, 'html 2 canvas word press')).toEqual([0, 3]);
  });

  test('finds only pairs of at least four letters', async () => {
    const dictionary = await dictionaryOf({ nomad: 9, noma: 9 });
    expect(joins(dictionary, 'no m')).toEqual([]);
    expect(joins(dictionary, 'no ma')).toEqual([0]);
  });

  test('ignores words of scripts without spaces', async () => {
    const dictionary = await dictionaryOf({ 东京: 9, 京都: 9 });
    expect(joins(dictionary, '東 京 都')).toEqual([]);
  });
});

describe('findShorterNames', () => {
  const names = (dictionary: Dictionary, query: string) => {
    const words = queryWords(query);
    return findShorterNames(dictionary, words, findJoins(dictionary, words));
  };

  test('finds the rest of a query without frequent words at its ends, the longest first', async () => {
    const dictionary = await dictionaryOf({ the: 900, library: 200, redux: 5 }, { spaces: 10_000 });
    expect(names(dictionary, 'redux library')).toEqual(['redux']);
    expect(names(dictionary, 'the redux form library')).toEqual([
      'the redux form',
      'redux form library',
      'redux form',
    ]);
    expect(names(dictionary, 'redux')).toEqual([]);
    expect(names(dictionary, 'redux library form')).toEqual([]);
  });

  test('finds the rest of a single or joined word without a frequent end', async () => {
    const dictionary = await dictionaryOf({ js: 200, threejs: 3 }, { spaces: 10_000 });
    expect(names(dictionary, 'reactjs')).toEqual(['react']);
    expect(names(dictionary, 'jsdom')).toEqual(['dom']);
    expect(names(dictionary, 'three js')).toEqual(['three']);
    expect(names(dictionary, 'xjs')).toEqual([]);
  });

  test('takes words for frequent in at least 2% of the spaces, and in at least 100', async () => {
    const known = (js: number, spaces: number) => dictionaryOf({ js }, { spaces });
    expect(names(await known(199, 10_000), 'reactjs')).toEqual([]);
    expect(names(await known(99, 100), 'reactjs')).toEqual([]);
    expect(names(await known(100, 100), 'reactjs')).toEqual(['react']);
  });
});

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

    test('a single word to the most frequent of the nearest words, or the first in alphabetical order', async () => {
      const known = (clamp: number, clump: number) => dictionaryOf({ clamp, clump });
      expect(other(await known(10, 30), 'clxmp')).toEqual([['clump', 'clxmp']]);
      expect(other(await known(10, 10), 'clxmp')).toEqual([['clamp', 'clxmp']]);
    });

    test('a word to one with the same letters before others at the same distance', async () => {
      const dictionary = await dictionaryOf({ brad: 90, bread: 20, breads: 100, board: 90 });
      expect(other(dictionary, 'braed')).toEqual([['bread', 'braed']]);
      expect(other(dictionary, 'braed oven')?.[0]).toEqual(['bread', 'brad', 'braed']);
      expect(other(dictionary, 'baord')).toEqual([['board', 'baord']]);
    });

    test('one of several words to one with the same letters and to a more frequent one', async () => {
      const dictionary = await dictionaryOf({ tux: 1_000, tmux: 51, plugin: 500 });
      expect(other(dictionary, 'tumx plugin')?.[0]).toEqual(['tmux', 'tux', 'tumx']);
      const rarer = await dictionaryOf({ tux: 1_000, tmux: 49, plugin: 500 });
      expect(other(rarer, 'tumx plugin')?.[0]).toEqual(['tux', 'tmux', 'tumx']);
    });

    test('a word to one that is over 20 times as frequent as the one with the same letters', async () => {
      const misspelt = { boostrap: 2 };
      const rarer = await dictionaryOf({ ...misspelt, bootstrap: 40 });
      expect(other(rarer, 'bootsrap')).toEqual([['boostrap', 'bootsrap']]);
      const frequent = await dictionaryOf({ ...misspelt, bootstrap: 41 });
      expect(other(frequent, 'bootsrap')).toEqual([['bootstrap', 'bootsrap']]);
    });

    test('one of several words to the three most frequent of the nearest words', async () => {
      const dictionary = await dictionaryOf({
        clamp: 90,
        clemp: 60,
        climp: 80,
        clomp: 70,
        clump: 100,
      });
      expect(other(dictionary, 'clxmp oven')).toEqual([
        ['clump', 'clamp', 'climp', 'clxmp'],
        ['oven'],
      ]);
    });

    test('not to a word in less than a tenth as many spaces as the most frequent one', async () => {
      const known = (clamp: number) => dictionaryOf({ clamp, clump: 100 });
      expect(other(await known(10), 'clxmp oven')?.[0]).toEqual(['clump', 'clamp', 'clxmp']);
      expect(other(await known(9), 'clxmp oven')?.[0]).toEqual(['clump', 'clxmp']);
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

describe('withBeginnings', () => {
  const beginnings = (dictionary: Dictionary, ...words: string[]) =>
    withBeginnings(
      dictionary,
      words.map((word): Alternative => [[word], ['form']]),
    )?.words.map(([found]) => found);

  test('finds words of at least six letters without their last two', async () => {
    const dictionary = await dictionaryOf({});
    expect(beginnings(dictionary, 'глобальные', 'navigateur', 'heute')).toEqual([
      ['глобальные', 'глобальн'],
      ['navigateur', 'navigate'],
      ['heute'],
    ]);
    expect(beginnings(dictionary, 'heute', 'sha256', 'wi-fi-net')).toBeUndefined();
  });

  test('does not count the Arabic article', async () => {
    const dictionary = await dictionaryOf({});
    expect(beginnings(dictionary, 'المكبة')).toBeUndefined();
    expect(beginnings(dictionary, 'المكتبات')).toEqual([['المكتبات', 'المكتب']]);
  });

  test('finds none if words in more than 1% of the spaces, and in more than 1,000, begin alike', async () => {
    const known = (servicio: number) => dictionaryOf({ servicio }, { spaces: 200_000 });
    expect(beginnings(await known(2_000), 'servicios')).toEqual([['servicios', 'servici']]);
    expect(beginnings(await known(2_001), 'servicios')).toBeUndefined();
  });
});

describe('withFewerWords', () => {
  const texts = (...words: string[]) => words.map((word): Alternative => [[word], []]);
  const fewer = (words: readonly Alternative[], documents: readonly number[]) =>
    withFewerWords(words, documents).map(({ name, words: kept, missing }) => ({
      name,
      words: kept,
      missing,
    }));

  test('requires one word less each time, and ends with the rarest word alone', () => {
    const words = texts('bread', 'oven', 'rye', 'salt');
    expect(fewer(words, [90, 50, 10, 70])).toEqual([
      { name: '3 of 4 words', words, missing: 1 },
      { name: '2 of 4 words', words, missing: 2 },
      { name: '1 of 4 words', words: texts('rye'), missing: 0 },
    ]);
  });

  test('never has words that no space contains', () => {
    expect(fewer(texts('bread', 'zuk', 'oven'), [90, 0, 10])).toEqual([
      { name: '2 of 3 words', words: texts('bread', 'oven'), missing: 0 },
      { name: '1 of 3 words', words: texts('oven'), missing: 0 },
    ]);
  });

  test('has the rarest four of many words', () => {
    const words = texts('a', 'fast', 'wild', 'river', 'boat', 'trip');
    expect(fewer(words, [900, 30, 20, 40, 50, 10])[0]).toEqual({
      name: '4 of 6 words',
      words: texts('fast', 'wild', 'river', 'trip'),
      missing: 0,
    });
  });

  test('prefers the first of two equally frequent words', () => {
    expect(fewer(texts('boats', 'boots'), [1, 1])).toEqual([
      { name: '1 of 2 words', words: texts('boats'), missing: 0 },
    ]);
  });

  test('returns an empty list for a single word, and for words that no space contains', () => {
    expect(fewer(texts('bread'), [90])).toEqual([]);
    expect(fewer(texts('bread', 'oven'), [0, 0])).toEqual([]);
  });

  test('returns at most four interpretations of the rarest words in query order, each with a smaller minimum', () => {
    const frequencies = fc.array(fc.oneof(fc.nat(5), fc.nat(1_000_000)), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(frequencies, (documents) => {
        const words = documents.map((_, i): Alternative => [[`word${i}`, `other${i}`], []]);
        const found = withFewerWords(words, documents);
        const known = documents.filter((each) => each > 0).sort((a, b) => a - b);
        expect(found.length).toBe(Math.min(known.length, documents.length - 1, 4));
        for (const [i, { words: kept, missing }] of found.entries()) {
          expect(kept.length - missing).toBe(found.length - i);
          const places = kept.map((word) => words.indexOf(word));
          expect(places).toEqual([...places].sort((a, b) => a - b));
          const frequenciesOfKept = places.map((place) => documents[place] as number);
          expect(frequenciesOfKept.sort((a, b) => a - b)).toEqual(known.slice(0, kept.length));
        }
      }),
    );
  });
});

describe('estimateDocuments', () => {
  test('returns the number of spaces with the rarest word of a text', async () => {
    const dictionary = await dictionaryOf({ bread: 90, breads: 5, oven: 10 });
    expect(estimateDocuments(dictionary, 'bread')).toBe(95);
    expect(estimateDocuments(dictionary, 'bread oven')).toBe(10);
    expect(estimateDocuments(dictionary, 'bread zuk')).toBe(0);
  });

  test('counts the joined form of a word with several parts, and the rarest bigram of a run', async () => {
    const dictionary = await dictionaryOf({ nodejs: 7, node: 50, js: 60, 图书: 20, 书馆: 9 });
    expect(estimateDocuments(dictionary, 'node-js')).toBe(7);
    expect(estimateDocuments(dictionary, '图书馆')).toBe(9);
  });
});
