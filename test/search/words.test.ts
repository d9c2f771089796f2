import { describe, expect, test } from 'vitest';
import { countWords } from '../../server/text/word-count.ts';
import { fold, tagKey } from '../../server/text/words/fold.ts';
import { matches, queryWords, SplitText } from '../../server/text/words/query.ts';
import {
  indexWords,
  isCorrectable,
  MAX_WORD_CODE_POINTS,
  titleKey,
} from '../../server/text/words/tokenize.ts';

const finds = (query: string, text: string) => matches(queryWords(query), new SplitText(text));

/** Queries, each with a text that it finds. More are in test/search/example-queries. */
const found: [language: string, query: string, text: string][] = [
  ['English', 'BOOK club', 'The Club of old books'],
  ['English', "children's books", 'Childrens Books'],
  ['English', 'machine-learning', 'Machine Learning'],
  ['English', 'machine_learning', 'Machine Learning'],
  ['English', 'next', 'The end.Next chapter'],
  ['English', '"exact" (words)! *', 'Exact words'],
  ['English', 'lego®', 'Lego builders'],
  ['English', 'microsoft', 'Ｍｉｃｒｏｓｏｆｔ'],
  ['German', 'GROẞE', 'große'],
  ['German', 'Donau', 'Donau\u00ADdampf\u00ADschiff'],
  ['French', 'l´eau', 'l’eau'],
  ['French', "l'histoire de l'art", 'Histoire des arts, de Lascaux à nos jours'],
  ['Catalan', 'col·lecció', 'Collecció'],
  ['Turkish', "İstanbul'da", 'İstanbulda yaşam'],
  ['Danish', 'kobenhavn', 'København'],
  ['Icelandic', 'thordur', 'Þórður'],
  ['Greek', 'ελλαδα', 'Ελλάδα'],
  ['Greek', 'ΠΡΟΪΌΝΤΑ', 'προϊόντα'],
  ['Russian', 'Андреи', 'Андрей'],
  ['Arabic', 'لا', 'ﻻ'],
  ['Arabic', 'إسلام', 'اسلام'],
  ['Arabic', 'قران', 'قرآن'],
  ['Arabic', 'مسوول', 'مسؤول'],
  ['Arabic', 'القهوه', 'القهوة'],
  ['Arabic', 'علي', 'على'],
  ['Arabic', 'بالكتاب', 'وللكتاب'],
  ['Arabic', '2026', 'عام ٢٠٢٦'],
  ['Persian', 'كتابي', 'کتابی'],
  ['Persian', 'خانهٔ', 'خانۀ'],
  ['Persian', '۱۴۰۵', '١٤٠٥'],
  ['Hebrew', 'צהל', 'צה״ל'],
  ['Hebrew', 'צה"ל', 'צהל'],
  ['Hindi', 'क़लम', 'क\u093Cलम'],
  ['Hindi', 'कल', 'क़लम'],
  ['Hindi', 'गंगा चंचल घंटा संबंध', 'गङ्गा चञ्चल घण्टा सम्बन्ध'],
  ['Hindi', 'सम्बं', 'संबन्ध'],
  ['Hindi', 'पांच', 'पाँच'],
  ['Hindi', '2026', '२०२६'],
  ['Tamil', 'இலக்கிய', 'தமிழ் இலக்கியம்'],
  ['Bengali', 'রবীন্দ্র', 'রবীন্দ্রসংগীত।'],
  ['Georgian', 'ᲥᲐᲠᲗᲣᲚᲘ', 'ქართული ენა'],
  ['Armenian', 'ՀԱՅՈՑ', 'Հայոց լեզու'],
  ['Amharic', 'አማርኛ', 'አማርኛ መማር'],
  ['Tibetan', 'ཡིག', 'བོད་ཡིག'],
  ['Lao', 'ລາວ', 'ພາສາລາວ'],
  ['Burmese', 'စာ', 'မြန်မာစာ'],
  ['Thai', 'ปี2569', 'ปี๒๕๖๙'],
  ['Khmer', 'ភាសាខ្មែរ', 'រៀន\u200Bភាសា\u200Bខ្មែរ'],
  ['Chinese', '葛城', '葛\u{E0100}城'],
  ['Chinese', '手机', 'iPhone手机壳'],
  ['Chinese', 'iphone', 'iPhone手机壳'],
  ['Chinese', '干燥', '乾燥'],
  ['Chinese', '薴', '苎麻'],
  ['Japanese', '都', '東京都'],
  ['Japanese', '2024', '2024年'],
  ['Korean', 'react', '리액트React를'],
  ['Korean', '한국'.normalize('NFD'), '한국어'],
  ['Vietnamese', 'Việt'.normalize('NFD'), 'Việt Nam'],
  ['Hawaiian', "hawai'i", 'Hawaiʻi'],
  ['Hawaiian', 'hawaii', 'Hawaiʻi'],
  ['code', 'node.', 'Node.js'],
  ['code', 'go fast', 'Fast Go servers'],
  ['code', 'c# games', 'Games in C#'],
  ['code', 'learn go', 'Learn good manners'],
  ['code', 'example.com', 'https://www.example.com/a/b'],
  ['code', 'someone@example.com', 'Write to someone@example.com.'],
  ['code', '#chess', 'Chess'],
  ['numbers', '2024', 'On 12.05.2024'],
  ['numbers', '1', '1️⃣ first'],
];

/** Queries, each with a text that it must not find. */
const notFound: [language: string, query: string, text: string][] = [
  ['English', 'arden', 'Gardening'],
  ['English', 'book club', 'Books only'],
  ['English', "who's", 'The who: songs'],
  ['English', "it's", 'item store'],
  ['English', 'd&d', 'Dogs and dragons'],
  ['English', 'k-pop', 'Pop for kids'],
  ['Hindi', 'का', 'कि'],
  ['Hindi', 'जंम', 'जन्म'],
  ['Arabic', 'له', 'الله'],
  ['Thai', 'ไทยภาษา', 'ภาษาไทย'],
  ['Japanese', '東京都', '京都東京'],
  ['Japanese', '東京都', '東京 京都'],
  ['Japanese', 'か', 'がく'],
  ['Chinese', '京东', '东京都'],
  ['Korean', '국어', '한국어'],
  ['emoji', '🇩🇪', '🇪🇩🇪🇸'],
  ['emoji', '🏴󠁧󠁢󠁳󠁣󠁴󠁿', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
  ['emoji', '❤️', '🧡'],
  ['code', 'c++', 'C and Java'],
  ['code', 'go learn', 'Learn good manners'],
  ['code', 'c# games', 'Games in C'],
  ['code', 'js node', 'Jsx for Node'],
  ['code', 'c++', 'CPlus'],
  ['code', 'c#', 'C'],
  ['code', '.net', 'Network of friends'],
  ['code', 'f#', 'fsharp'],
  ['numbers', 'event1699999123', 'event1699999124'],
  ['numbers', '2.0', 'Web 2024'],
  ['numbers', '3.14', '3 apples, 14 pears'],
];

describe('searching', () => {
  test.each(found)('%s: %j finds %j', (_, query, text) => {
    expect(finds(query, text)).toBe(true);
  });

  test.each(notFound)('%s: %j does not find %j', (_, query, text) => {
    expect(finds(query, text)).toBe(false);
  });
});

describe('fold', () => {
  test('keeps marks that distinguish words, such as Hindi vowel signs and Japanese voicing marks', () => {
    for (const text of ['हिन्दी', 'বাংলা', 'ภาษาไทย', 'がぎぐ', '한국어', 'தமிழ்', 'བོད་ཡིག']) {
      expect(fold(text)).toBe(text.normalize('NFC'));
    }
  });

  test('does not depend on the locale of the machine', () => {
    expect(fold('TITLE')).toBe('title');
    expect(fold('ı İ I i')).toBe('i i i i');
  });

  test('folds all apostrophes to one', () => {
    expect(fold("' ’ ‘ ‛ ʼ ʻ ´ ＇")).toBe("' ' ' ' ' ' ' '");
  });

  test('converts traditional Chinese characters to simplified ones, idempotently', () => {
    expect(fold('機器學習 臺北 乾')).toBe('机器学习 台北 干');
    // The second is the simplified form of the first, and the traditional form of the third.
    expect(fold('薴 苧 苎')).toBe('苎 苎 苎');
  });

  test('replaces lone surrogates', () => {
    expect(fold('a\uD800b')).toBe('a\uFFFDb');
  });
});

describe('indexWords', () => {
  test.each([
    ['', []],
    [' -- ?! \0\n', []],
    ['The the THE', ['the']],
    ['Node.js', ['nodejs', 'node', 'js', '.js']],
    ['state-of-the-art', ['stateoftheart', 'oftheart', 'theart', 'art', 'state', 'of', 'the']],
    ["l'eau-vive", ['leauvive', 'eauvive', 'vive', 'l', 'eau']],
    ['ASP.NET', ['aspnet', 'asp', 'net', '.net']],
    ['리액트React', ['리액트react', '리액트', 'react']],
    ['c++ c++17 C#', ['c++', 'c++17', '17', 'c#']],
    ['.NET ...and', ['.net', 'net', 'and']],
    ['v1.2, 1,000 and 3.', ['v1.2', '2', '1000', '1', '000', 'and', '3']],
    ['والكتاب كتاب', ['والكتاب', 'كتاب']],
    ['हिंदी', ['हिन्दी', 'हिं']],
    ['東京都', ['东京', '京都', '都']],
    ['東', ['东']],
    ['👩🏽‍💻👍🏽', ['👩💻', '👩', '💻', '👍']],
  ])('of %j are %j', (text, words) => {
    expect(new Set(indexWords(text))).toEqual(new Set(words));
  });

  test('are truncated to the maximum length, as in queries', () => {
    const long = 'u𐐨'.repeat(MAX_WORD_CODE_POINTS);
    const [word = ''] = indexWords(long);
    expect(Array.from(word)).toHaveLength(MAX_WORD_CODE_POINTS);
    expect(queryWords(long).map(({ word }) => word)).toEqual([word]);
    expect(finds(long, long)).toBe(true);
  });

  test.each([
    'a',
    'a.',
    'a-',
    'a#',
    '1,',
    '_',
    '東',
    '👩\u200D',
    '\u{E0041}',
    'a\u0301',
    'न्त',
    'ال',
    '\u0E31',
    '+#',
  ])(
    'as well as queryWords, countWords and tagKey take less than quadratic time for %j repeated',
    (piece) => {
      const text = `${piece.repeat(100_000 / piece.length)}a`;
      const before = process.threadCpuUsage();
      indexWords(text);
      queryWords(text);
      countWords(text);
      tagKey(text);
      // Processor time, which does not depend on the load of the machine.
      const { user, system } = process.threadCpuUsage(before);
      expect((user + system) / 1e6).toBeLessThan(5);
    },
  );
});

describe('queryWords', () => {
  const terms = (query: string) =>
    queryWords(query).map(({ anyOf }) =>
      anyOf.map((all) => all.map(({ text, isPrefix }) => text + (isPrefix ? '*' : ''))),
    );

  test('searches for each word once, as a prefix', () => {
    expect(terms('Red red WINE')).toEqual([[['red*']], [['wine*']]]);
  });

  test('searches for one or two letters as a prefix only at the end', () => {
    expect(terms('go c ab')).toEqual([[['go']], [['c']], [['ab*']]]);
    expect(terms('d&d dice')).toEqual([[['dd']], [['dice*']]]);
    expect(terms('go fast')).toEqual([[['go']], [['fast*']]]);
    const [adlam, otherAdlam] = ['𞤢𞤣', '𞤢𞤣𞤤'];
    expect(terms(`${adlam} ${otherAdlam} go`)).toEqual([
      [[adlam]],
      [[`${otherAdlam}*`]],
      [['go*']],
    ]);
  });

  test('searches for short Korean words as prefixes, because particles follow them', () => {
    expect(terms('한국 산 책')).toEqual([[['한국*']], [['산*']], [['책*']]]);
  });

  test('marks runs of scripts without spaces', () => {
    const words = queryWords('東京 tower タワー 한국 ไทย 👍');
    expect(words.map(({ isUnspaced }) => isUnspaced)).toEqual([
      true,
      false,
      true,
      false,
      true,
      false,
    ]);
    expect(words[0]).toEqual({
      word: '东京',
      typed: '东京',
      anyOf: [[{ text: '东京', isPrefix: false }]],
      mustVerify: false,
      isUnspaced: true,
    });
  });

  test('searches for a compound word as a whole or in parts', () => {
    expect(terms('machine-learning')).toEqual([[['machinelearning*'], ['machine*', 'learning*']]]);
    expect(terms("l'eau")).toEqual([[['leau*'], ['eau*']]]);
    expect(terms("who's")).toEqual([[['whos*']]]);
    expect(terms('k-pop')).toEqual([[['kpop*'], ['k', 'pop*']]]);
    expect(terms('3.14')).toEqual([[['3.14*']]]);
  });

  test('searches for a run by its bigrams, and verifies it only if they cannot decide', () => {
    expect(terms('京')).toEqual([[['京*']]]);
    expect(terms('東京')).toEqual([[['东京']]]);
    expect(terms('東京都')).toEqual([[['东京', '京都']]]);
    expect(queryWords('京 東京 東京都 ああ あああ').map(({ mustVerify }) => mustVerify)).toEqual([
      ...[false, false, true, false, true],
    ]);
  });

  test('limits the number of words, and of terms for each', () => {
    const query = Array.from({ length: 40 }, (_, i) => `word${i}`);
    expect(queryWords(query.join(' '))).toHaveLength(12);
    expect(queryWords(query.join(' '), { limit: 3 }).map(({ word }) => word)).toEqual(
      query.slice(0, 3),
    );
    const many = [
      ...queryWords(query.join('-')),
      ...queryWords('いろはにほへとちりぬるをわかよたれそ'),
    ];
    for (const { anyOf } of many) {
      for (const terms of anyOf) expect(terms.length).toBeLessThanOrEqual(12);
    }
  });

  test('returns an empty list for a text without words', () => {
    expect(queryWords('')).toEqual([]);
    expect(queryWords(' * "" (\0) … ')).toEqual([]);
  });
});

describe('titleKey', () => {
  test.each([
    ['Hello, World!', 'hello world'],
    ['  C++:  the basics ', 'C++ (The Basics)'],
    ['Node.js', 'nodejs'],
    ['Wi-Fi', 'WiFi'],
    ['Who’s who?', "who's who"],
    ['東京都 2024年', '東京都、2024 年'],
    ['👍🏽 Café', '👍 cafe'],
  ])('%j equals %j', (title, query) => {
    expect(titleKey(title)).toBe(titleKey(query));
  });

  test.each([
    ['.NET', 'net'],
    ['C++', 'C'],
    ['one two', 'two one'],
    ['very very good', 'very good'],
    ['東京都', '東京'],
  ])('%j does not equal %j', (title, query) => {
    expect(titleKey(title)).not.toBe(titleKey(query));
  });

  test('is empty without words', () => {
    expect(titleKey('?! …')).toBe('');
  });
});

describe('tagKey', () => {
  test.each([
    ['#Chess', 'chess'],
    ['  Board \t\n games ', 'board games'],
    ['# ＃spaced', 'spaced'],
    ['C++', 'c++'],
    ['C#', 'c#'],
    ['a/b', 'a/b'],
    ['100%', '100%'],
    ['Café', 'cafe'],
    ['東京', '东京'],
    ['❤️', '❤'],
    ['rust\u200B\u{E0041}', 'rust'],
    ['a\0b', 'a b'],
    [' # ', ''],
    ['', ''],
  ])('of %j is %j', (name, key) => {
    expect(tagKey(name)).toBe(key);
  });
});

describe('isCorrectable', () => {
  test.each([
    'word',
    'москва',
    'हिन्दुस्तान',
    'nodejs',
    'abc1',
    'event1',
    'covid18',
    'iphone15',
    'base64',
    'l10nr',
  ])('is true for %j', (word) => {
    expect(isCorrectable(word)).toBe(true);
  });

  test.each([
    'abc',
    'ab12',
    'h264',
    'v1.2.9',
    '2024',
    'c++lang',
    '.net',
    '東京都民',
    'ภาษาไทย',
    '👍👍👍👍',
    'किमी',
    '',
  ])('is false for %j', (word) => {
    expect(isCorrectable(word)).toBe(false);
  });
});
