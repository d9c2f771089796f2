import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mentionedNames } from '../../server/messages/mentioned-names.ts';

test.each([
  ['@ada lovelace!', [['ada lovelace', 'ada']]],
  ['hello @ada', [['ada']]],
  ['@ada. Bye', [['ada. Bye', 'ada.', 'ada']]],
  ['@ada-x', [['ada-x']]],
  ['@e\u0301va', [['e\u0301va']]],
  ['a@b @@c @ d', []],
])('mentionedNames(%j) returns the possible names, the longest first', (text, names) => {
  expect(mentionedNames(text)).toEqual(names);
});

test('mentionedNames returns few names, which are in the text after an @', () => {
  const part = fc.constantFrom(
    '@',
    'a',
    'é',
    '\u0301',
    ' ',
    '.',
    '-',
    '_',
    '7',
    '\n',
    '👍',
    '東京',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 400 }), (parts) => {
      const text = parts.join('');
      const names = mentionedNames(text);
      expect(names.length).toBeLessThanOrEqual(20);
      for (const each of names) {
        expect(each.length).toBeLessThanOrEqual(130);
        expect(each).toEqual(each.toSorted((a, b) => b.length - a.length));
        for (const name of each) expect(text).toContain(`@${name}`);
      }
    }),
  );
});
