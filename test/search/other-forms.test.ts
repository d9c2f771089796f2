import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inflectionsOf } from '../../server/search/rules/other-forms.ts';
import { fold } from '../../server/text/words/fold.ts';
import { dictionaryOf } from './dictionary/dictionary-of.ts';

/** Returns the number of spaces with each form. The first form of each family is the most frequent. */
function frequenciesOf(families: string[][]): Record<string, number> {
  return Object.fromEntries(
    families.flatMap((forms) => forms.map((form, i) => [fold(form), 90 - i])),
  );
}

const FAMILIES = [
  ['library', 'libraries'],
  ['city', 'cities'],
  ['parse', 'parsing', 'parsed', 'parses'],
  ['validate', 'validation', 'validating'],
  ['knit', 'knitting', 'knits', 'knitted'],
  ['logger', 'loggers'],
  ['container', 'containers'],
  ['шахматы', 'шахматами', 'шахматам'],
  ['москва', 'москве', 'москвой'],
  ['йога', 'йогой', 'йоге'],
  ['новый', 'новая', 'нового', 'новой'],
  ['большой', 'большая', 'большого'],
];

/** Words that begin like others but are not forms of them. */
const STRANGERS = [
  ['organ', 'organization'],
  ['form', 'format', 'formatter'],
  ['parser', 'parsnip'],
  ['city2', 'citadel'],
  ['東京', '京都'],
  ['한국어를', '한국'],
];

describe('inflectionsOf', () => {
  test.each(FAMILIES)('finds the other forms of %s, the most frequent first', async (...forms) => {
    const dictionary = await dictionaryOf(frequenciesOf([...FAMILIES, ...STRANGERS]));
    for (const form of forms.map(fold)) {
      // Without forms that begin with the word, because a search for the word finds them anyway.
      const expected = forms
        .map(fold)
        .filter((other) => !other.startsWith(form))
        .slice(0, 3);
      expect([form, inflectionsOf(dictionary, form)]).toEqual([form, expected]);
    }
  });

  test.each(STRANGERS)('finds none for %s', async (...words) => {
    const dictionary = await dictionaryOf(frequenciesOf([...STRANGERS]));
    for (const word of words) expect([word, inflectionsOf(dictionary, word)]).toEqual([word, []]);
  });

  test('finds the agent nouns of a verb, but not the verbs of an agent noun', async () => {
    const dictionary = await dictionaryOf({
      contains: 90,
      container: 7,
      generates: 80,
      generators: 6,
    });
    expect(inflectionsOf(dictionary, 'containers')).toEqual(['container']);
    expect(inflectionsOf(dictionary, 'generator')).toEqual([]);
    // `covers` only looks like an agent noun.
    expect(inflectionsOf(await dictionaryOf({ covered: 5, cover: 3 }), 'covers')).toEqual([
      'covered',
      'cover',
    ]);
    expect(inflectionsOf(dictionary, 'containing')).toEqual(['contains', 'container']);
    expect(inflectionsOf(dictionary, 'generating')).toEqual(['generates', 'generators']);
  });

  test('knows only words of the dictionary', async () => {
    const dictionary = await dictionaryOf({ libraries: 5 });
    expect(inflectionsOf(dictionary, 'library')).toEqual(['libraries']);
    expect(inflectionsOf(dictionary, 'libraries')).toEqual([]);
  });

  test('returns at most three other words with the same first three letters, whatever the dictionary', async () => {
    const letters = fc.constantFrom('a', 'b', 'e', 'ing', 'ies', 'y', 'ed', 's', 'er');
    const word = fc.array(letters, { maxLength: 6 }).map((parts) => `tes${parts.join('')}`);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(word, { maxLength: 60 }), word, async (words, typed) => {
        const dictionary = await dictionaryOf(Object.fromEntries(words.map((term) => [term, 1])));
        const found = inflectionsOf(dictionary, typed);
        expect(found.length).toBeLessThanOrEqual(3);
        for (const form of found) {
          expect(words).toContain(form);
          expect(form.slice(0, 3)).toBe(typed.slice(0, 3));
          expect(form.startsWith(typed)).toBe(false);
        }
      }),
    );
  });
});
