import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countWords } from '../../server/text/word-count.ts';
import { anyText, utf16Texts } from '../support/arbitrary-texts.ts';

describe('countWords', () => {
  test.each([
    ['', 0],
    ['Hello, world!', 2],
    ["Who's there? It's me.", 4],
    ['foo_bar node.js 3.14 1,000', 4],
    ['e-mail', 2],
    ['… _ -- !', 0],
    ['Grüße aus Köln', 3],
    ['東京都', 2],
    ['ภาษาไทย', 2],
    ['👍 ❤️', 0],
    ['👍 yes', 1],
  ])('of %j is %i', (text, count) => {
    expect(countWords(text)).toBe(count);
  });

  test('returns the number of words that Intl.Segmenter finds', () => {
    const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
    const ascii = fc
      .array(fc.constantFrom(...Array.from("abYZ0189___''\"..,,;:-+ \r\n\t\0\x7f")))
      .map((characters) => characters.join(''));
    fc.assert(
      fc.property(fc.oneof(ascii, anyText, fc.string({ unit: 'binary-ascii' })), (text) => {
        const words = [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike);
        expect(countWords(text)).toBe(words.length);
      }),
      { numRuns: 5_000 },
    );
  });

  test('accepts any string', () => {
    fc.assert(
      fc.property(utf16Texts, (text) => {
        expect(countWords(text)).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 2_000 },
    );
  });
});
