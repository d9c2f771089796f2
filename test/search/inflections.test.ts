import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inflectionPrefix } from '../../server/search/inflections.ts';
import { fold } from '../../server/text/words/fold.ts';

/** Forms of one word, and the prefix that finds all of them. */
const FAMILIES: [prefix: string, ...forms: string[]][] = [
  ['librar', 'library', 'libraries'],
  ['cit', 'city', 'cities'],
  ['pars', 'parsing', 'parse', 'parsed'],
  ['valid', 'validate', 'validation', 'validating'],
  ['knit', 'knitting', 'knits', 'knitted'],
  ['bak', 'baking', 'baked', 'baker'],
  ['шахмат', 'шахматы', 'шахматами', 'шахматам'],
  ['москв', 'москва', 'москве', 'москвой'],
  ['иог', 'йога', 'йогой', 'йоге'],
  ['нов', 'новый', 'новая', 'нового', 'новой'],
  ['больш', 'большой', 'большая', 'большого'],
];

describe('inflectionPrefix', () => {
  test.each(FAMILIES)('returns a prefix of all forms: %s', (prefix, ...forms) => {
    for (const form of forms.map(fold)) {
      expect([form, inflectionPrefix(form) ?? form]).toEqual([
        form,
        expect.stringMatching(new RegExp(`^${prefix}`)),
      ]);
      expect(form.startsWith(prefix)).toBe(true);
    }
    const [longest = ''] = forms.map(fold).sort((a, b) => b.length - a.length);
    expect(inflectionPrefix(longest)).toBe(prefix);
  });

  test.each(['taxi', 'bicycl', 'node', 'parser', 'москв'])('does not shorten %j', (word) => {
    expect(inflectionPrefix(word)).toBeUndefined();
  });

  test.each([
    'bus',
    'news2',
    'covid19',
    'c++lang',
    '.nets',
    'ides',
    'дом',
    'ψυχες',
    '한국어를',
    '東京',
  ])('returns undefined for %j, which is too short or not in a supported language', (word) => {
    expect(inflectionPrefix(fold(word))).toBeUndefined();
  });

  test('keeps the i of a plural in -is', () => {
    expect(inflectionPrefix('taxis')).toBe('taxi');
  });

  test('returns a shorter prefix with at least three letters and half of the word', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz', 'ing', 'ies', 'ness', 'ed', 's'];
    const cyrillic = [...'абвгдежзиклмнопрстуфхцчшщъыьэюя', 'ами', 'ого', 'ои', 'ыи'];
    const word = fc.oneof(
      ...[letters, cyrillic].map((units) =>
        fc.array(fc.constantFrom(...units), { maxLength: 9 }).map((parts) => parts.join('')),
      ),
    );
    fc.assert(
      fc.property(word, (typed) => {
        const prefix = inflectionPrefix(typed);
        if (prefix === undefined) return;
        expect(typed.startsWith(prefix)).toBe(true);
        expect(prefix.length).toBeLessThan(typed.length);
        expect(prefix.length).toBeGreaterThanOrEqual(Math.max(3, typed.length / 2));
      }),
      { numRuns: 5_000 },
    );
  });
});
