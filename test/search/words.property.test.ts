import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fold, tagKey } from '../../server/text/words/fold.ts';
import { matches, type QueryWord, queryWords, SplitText } from '../../server/text/words/query.ts';
import {
  indexWords,
  MAX_WORD_CODE_POINTS,
  titleKey,
  WORD_SIGNS,
} from '../../server/text/words/tokenize.ts';
import { anyText, trickyText, utf16Texts } from '../support/arbitrary-texts.ts';

const runs = fc
  .array(fc.constantFrom(...'東东京都庁學学タワーのガがゝ々ไทยน้ำเພາສາខ្មែរမြန်မာ'), {
    minLength: 1,
    maxLength: 30,
  })
  .map((characters) => fold(characters.join('')));

const check = (property: fc.IProperty<[string]>, numRuns = 2_000) =>
  fc.assert(property, { numRuns });

describe('fold', () => {
  test('is idempotent', () => {
    check(
      fc.property(anyText, (text) => {
        expect(fold(fold(text))).toBe(fold(text));
      }),
    );
  });

  test('is idempotent for every character, and returns NFC', () => {
    const wrong: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const folded = fold(`a${String.fromCodePoint(code)}b`);
      if (fold(folded) !== folded || folded.normalize('NFC') !== folded) {
        wrong.push(code.toString(16));
      }
    }
    expect(wrong).toEqual([]);
  });

  test('does not change the words, title key or tag key of a text', () => {
    check(
      fc.property(anyText, (text) => {
        expect(indexWords(fold(text))).toEqual(indexWords(text));
        expect(queryWords(fold(text))).toEqual(queryWords(text));
        expect(titleKey(fold(text))).toBe(titleKey(text));
        expect(tagKey(fold(text))).toBe(tagKey(text));
        expect(tagKey(tagKey(text))).toBe(tagKey(text));
      }),
    );
  });
});

describe('words', () => {
  test('contain only characters that are safe in the index and in its query language', () => {
    const safe = new RegExp(`^[a-z0-9${WORD_SIGNS}\\u{80}-\\u{10FFFF}]+$`, 'u');
    check(
      fc.property(fc.oneof(anyText, utf16Texts), (text) => {
        const terms = queryWords(text).flatMap(({ anyOf }) => anyOf.flat());
        for (const word of [...indexWords(text), ...terms.map(({ text }) => text)]) {
          expect(word).toMatch(safe);
          expect(word.isWellFormed() && !/\s/.test(word)).toBe(true);
          expect(Array.from(word).length).toBeLessThanOrEqual(MAX_WORD_CODE_POINTS);
        }
      }),
    );
  });

  test('are stored unchanged by FTS5', () => {
    const database = new Database(':memory:');
    database.exec(`
      CREATE VIRTUAL TABLE words USING fts5(
        text, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '${WORD_SIGNS}'");
      CREATE VIRTUAL TABLE temp.stored USING fts5vocab(main, words, row)`);
    const insert = database.prepare('INSERT INTO words (text) VALUES (?)');
    const stored = database.prepare('SELECT term FROM stored').pluck();
    const empty = database.prepare("INSERT INTO words (words) VALUES ('delete-all')");
    check(
      fc.property(anyText, (text) => {
        insert.run(indexWords(text).join(' '));
        expect(new Set(stored.all())).toEqual(new Set(indexWords(text)));
        empty.run();
      }),
      500,
    );
    database.close();
  });

  test('are distinct, and a limited query keeps the first ones', () => {
    check(
      fc.property(anyText, (text) => {
        expect(new Set(indexWords(text)).size).toBe(indexWords(text).length);
        const all = queryWords(text, { limit: Infinity }).map(({ word }) => word);
        expect(new Set(all).size).toBe(all.length);
        expect(queryWords(text).map(({ word }) => word)).toEqual(all.slice(0, 12));
      }),
    );
  });
});

const has = (words: readonly QueryWord[], text: string) => matches(words, new SplitText(text));

describe('a text', () => {
  test('is found by itself', () => {
    check(
      fc.property(anyText, (text) => {
        expect(has(queryWords(text, { limit: Infinity }), text)).toBe(true);
      }),
    );
  });

  test('is found by every prefix of each part between spaces', () => {
    check(
      fc.property(anyText, (text) => {
        for (const chunk of fold(text).split(/\s+/)) {
          const characters = Array.from(chunk);
          for (let length = 1; length <= characters.length; length += 1) {
            const prefix = characters.slice(0, length).join('');
            expect([prefix, has(queryWords(prefix), text)]).toEqual([prefix, true]);
          }
        }
      }),
    );
  });

  test('is found by every prefix of a Hindi word, regardless of how nasals are written', () => {
    const word = fc
      .array(fc.constantFrom('क', 'ि', 'द', 'ब', 'न', 'म', 'ं', 'ँ', 'ङ्', 'न्', 'म्', '़'), {
        maxLength: 12,
      })
      .map((letters) => `ह${letters.join('')}`);
    check(
      fc.property(word, (word) => {
        for (let length = 1; length <= word.length; length += 1) {
          const prefix = word.slice(0, length);
          expect([prefix, has(queryWords(prefix), word)]).toEqual([prefix, true]);
        }
      }),
    );
  });

  test('is found by every word that Intl.Segmenter finds in it', () => {
    // Marks on Hangul do not occur in real text.
    const written = trickyText.filter((text) => !/\p{sc=Hang}\p{M}/v.test(fold(text)));
    const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
    check(
      fc.property(written, (text) => {
        for (const { segment, isWordLike } of segmenter.segment(fold(text))) {
          if (isWordLike) {
            expect([segment, has(queryWords(segment), text)]).toEqual([segment, true]);
          }
        }
      }),
    );
  });

  test('is found by every part of a run of an unspaced script, and by no other run', () => {
    fc.assert(
      fc.property(runs, fc.nat(), fc.nat(), runs, (run, from, length, other) => {
        const characters = Array.from(run);
        const start = from % characters.length;
        const part = characters.slice(start, start + 1 + length).join('');
        expect(has(queryWords(part), `Latin ${run}, more`)).toBe(true);
        const words = queryWords(other);
        if (words.length === 1) expect(has(words, run)).toBe(run.includes(other));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is indexed with the terms of every word that must be verified', () => {
    check(
      fc.property(anyText, (text) => {
        const indexed = indexWords(text);
        for (const { anyOf, mustVerify } of queryWords(text)) {
          if (!mustVerify) continue;
          for (const { text } of anyOf.flat()) expect(indexed).toContain(text);
        }
      }),
    );
  });
});
