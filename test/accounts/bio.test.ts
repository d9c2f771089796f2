import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseBio } from '../../server/accounts/bio.ts';
import { domainErrorOf } from './domain-error.ts';

/** Returns the error of an invalid bio. */
const errorOf = (text: string) => domainErrorOf(() => parseBio(text));

const FAMILY_EMOJI = '👩‍👩‍👧‍👦';

describe('parseBio', () => {
  test.each([
    '',
    ' ',
    'Bakes on Sundays, argues about commas the rest of the week.',
    'two\nlines\n\nand a paragraph',
    '"quoted" \\ <b>as it is</b>',
    'Jose\u0301',
    'أحب الشعر\u200F القديم',
    'x'.repeat(500),
    'é'.normalize('NFD').repeat(500),
    FAMILY_EMOJI.repeat(285),
    '\n'.repeat(500),
  ])('returns the text unchanged: %j', (text) => {
    expect(parseBio(text)).toBe(text);
  });

  test('converts Windows line breaks to \\n', () => {
    expect(parseBio('one\r\ntwo\r\n\r\nthree')).toBe('one\ntwo\n\nthree');
    expect(parseBio('x\r\n'.repeat(250))).toBe('x\n'.repeat(250));
  });

  test.each([
    ['letters', 'x'.repeat(501)],
    ['letters with marks', 'é'.normalize('NFD').repeat(501)],
    ['flags', '🇩🇪'.repeat(501)],
    ['lines', 'x\n'.repeat(251)],
  ])('rejects more than 500 graphemes: %s', (_, text) => {
    expect(errorOf(text)).toMatchObject({
      code: 'bio_invalid',
      message: expect.stringMatching(/at most 500 characters. This one has 50[12]\./),
      pointers: [{ pointer: '/bio', message: 'must have at most 500 characters' }],
    });
  });

  test.each([
    ['marks on a single letter', `a${'\u0301'.repeat(2000)}`],
    ['emoji of families', FAMILY_EMOJI.repeat(286)],
    ['a million marks', `a${'\u0316\u0301'.repeat(500_000)}`],
  ])('rejects more than 2,000 code points: %s', (_, text) => {
    expect(errorOf(text)).toMatchObject({
      code: 'bio_invalid',
      message: expect.stringContaining('at most 2,000 Unicode code points'),
      pointers: [{ pointer: '/bio', message: 'must have at most 2,000 code points' }],
    });
  });

  test.each(['\0', '\t', '\r', '\r\r\n', '\n\r', '\x1B', '\x7F', '\x85', '\uD83D', '\uDE00'])(
    'rejects %j',
    (character) => {
      expect(errorOf(`one${character}two`)).toMatchObject({
        code: 'bio_invalid',
        message: expect.stringContaining('line breaks'),
        pointers: [{ pointer: '/bio' }],
      });
    },
  );

  test('returns well-formed text that parses to itself', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'binary' }),
      fc
        .array(fc.constantFrom('a', '\r', '\n', '\r\n', '\uD83D', '\uDE00', '\0'))
        .map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(text, (text) => {
        if (errorOf(text)) return;
        const bio = parseBio(text);
        expect(bio.isWellFormed()).toBe(true);
        expect(parseBio(bio)).toBe(bio);
      }),
      { numRuns: 1000 },
    );
  });
});
