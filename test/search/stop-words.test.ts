import { describe, expect, test } from 'vitest';
import { isStopWord } from '../../server/search/rules/stop-words.ts';
import { queryWords } from '../../server/text/words/query.ts';

/** Some of the most frequent words of each language. */
const STOP_WORDS: [language: string, words: string][] = [
  ['English', 'the a of and to in for with how do I my is are this that'],
  ['German', 'der die das und für mit ein eine wie ich kann über'],
  ['French', 'le la les des et pour avec un une du dans où'],
  ['Spanish', 'el la los y para con una cómo qué'],
  ['Portuguese', 'o os e para com uma não'],
  ['Italian', 'il gli e per con una che più'],
  ['Dutch', 'de het een en voor met'],
  ['Russian', 'и в на с по для что это всё'],
  ['Polish', 'i w na z dla się że'],
  ['Turkish', 've için bir bu ile çok'],
];

describe('isStopWord', () => {
  test.each(STOP_WORDS)('is true for the %s words %s', (_, words) => {
    const typed = queryWords(words, { limit: Infinity }).map(({ word }) => word);
    expect(typed.filter((word) => !isStopWord(word))).toEqual([]);
  });

  test('is true for query words of other spellings: capitals, abbreviations, marks', () => {
    for (const text of ['FÜR', 'd. h.', 'z.B.', 'Où', 'ещё']) {
      const words = queryWords(text).map(({ word }) => word);
      expect([text, words.filter((word) => !isStopWord(word))]).toEqual([text, []]);
    }
  });

  test.each(['sourdough', 'react', 'repair', 'brot', 'pain', 'шахматы', 'c++', '東京', ''])(
    'is false for %j',
    (word) => {
      expect(isStopWord(word)).toBe(false);
    },
  );
});
