import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countWords } from '../../server/text/word-count.ts';
import { anyText, utf16Texts } from '../support/arbitrary-texts.ts';

describe('countWords', () => {
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
