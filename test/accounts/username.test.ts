import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isReserved } from '../../server/accounts/reserved-usernames.ts';
import { parseUsername, type Username } from '../../server/accounts/username.ts';
import { DomainError } from '../../server/errors.ts';
import { usernameKey, usernameSkeleton } from '../../server/text/username-keys.ts';
import { domainErrorOf } from './domain-error.ts';

/** Characters of valid usernames and characters that make a username invalid. */
const PIECES = [
  ...Array.from('abcIlm10ßſıİéΣςσАавдπ田さタｶﾞ민ㅏㄅप्रि١१٣Ꭰﬁ𝐀ﷺ'),
  ...Array.from('._-  \'"\\/@<>\0\n\u2028'),
  '\u0301',
  '\u0307',
  '\u0323',
  '\u200B',
  '\u200D',
  '\u00AD',
  '\uFE0F',
  '\u3164',
  '\uD83D',
];
const nearlyValidNames = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 8 })
  .map((pieces) => pieces.join(''));
const BASIC_MULTILINGUAL_PLANE = String.fromCharCode(...Array(0x10000).keys());
/** Names that consist of letters and marks of a single script. */
const singleScriptNames = fc.oneof(
  ...['Latn', 'Grek', 'Cyrl', 'Armn', 'Geor', 'Cher', 'Deva', 'Thai', 'Kana', 'Hang'].map(
    (script) => {
      const letters =
        BASIC_MULTILINGUAL_PLANE.match(new RegExp(`[\\p{scx=${script}}&&[\\p{L}\\p{M}]]`, 'gv')) ??
        [];
      return fc.string({ unit: fc.constantFrom(...letters), minLength: 2, maxLength: 12 });
    },
  ),
);
const anyText = fc.oneof(
  nearlyValidNames,
  fc.string({ unit: 'binary', maxLength: 70 }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);

/** Returns the username, or undefined after checking the error of an invalid one. */
function tryParse(text: string): Username | undefined {
  try {
    return parseUsername(text);
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError);
    expect(error).toMatchObject({
      code: 'username_invalid',
      pointers: [{ pointer: '/username', message: expect.stringMatching(/^must /) }],
    });
    return undefined;
  }
}

function expectRejected(text: string, reason: string): void {
  expect(domainErrorOf(() => parseUsername(text))).toMatchObject({
    code: 'username_invalid',
    message: expect.stringContaining(reason),
  });
}

describe('parseUsername', () => {
  test.each([
    'ada',
    'Ada_Lovelace',
    'ada.lovelace',
    'João-Pedro',
    'Łukasz',
    'Nguyễn Văn A',
    'x1',
    '42',
    '田中さん',
    'ソニーX',
    'Tokyo東京タワー',
    '李ming',
    'ㄅㄆㄇ李',
    '민준',
    '金민준Kim',
    '𠮷野',
    'प्रिया',
    'நிலா',
    'น้ำฝน',
    'မြှို့တော်',
    'བཀྲ ཤིས',
    'ኢትዮጵያ',
    'ᏣᎳᎩ',
    'ᠮᠣᠩᠭᠣᠯ',
    'Ελένη',
    'Маша',
    'نور',
    'דָּוִד',
    'Աննա',
    'გიორგი',
    'प्रिया१२३',
    'نور٤٢',
    'Ａｄａ',
    'ﾀﾅｶ',
    '_ada',
    'J. R. Ada',
    'a._b',
    'דוד1',
    'דוד-1 2',
    'نور۴۲',
    'ߊߋ߁',
    'Ма\u0316ша',
    'x'.repeat(64),
    '𠮷'.repeat(64),
  ])('accepts %s', (name) => {
    expect(parseUsername(name).name).toBe(name);
  });

  test('normalises to NFC', () => {
    expect(parseUsername('Jose\u0301')).toEqual(parseUsername('José'));
    expect(parseUsername('Jose\u0301').name).toBe('José');
  });

  test.each([
    ['an empty name', ''],
    ['a single letter', 'a'],
    ['a single letter with a mark', 'e\u0301'],
    ['a single letter of two UTF-16 units', '𠮷'],
    ['65 letters', 'x'.repeat(65)],
    ['65 code points of 64 letters', `e\u0301${'x'.repeat(63)}`],
    ['four characters that NFKC expands to eighteen each', '\uFDFA'.repeat(4)],
  ])('rejects a length outside 2 to 64 characters: %s', (_, name) => {
    expectRejected(name, '2 to 64 characters');
  });

  test.each([
    ['a leading space', ' ada'],
    ['a trailing space', 'ada '],
    ['two spaces', 'ada  lovelace'],
    ['another kind of space', 'ada\u00A0lovelace'],
    ['a line break', 'ada\n'],
    ['a NUL', 'ada\0'],
    ['a quotation mark', 'a"b'],
    ['a backslash', 'a\\b'],
    ['other punctuation', 'ada!'],
    ['a symbol', 'a+b'],
    ['an emoji', 'ada👍'],
    ['a superscript digit', 'ada²'],
    ['a mark before the first letter', '\u0301ada'],
    ['a mark after punctuation', 'a_\u0301'],
    ['a mark after a space', 'a \u0301b'],
    ['an unpaired surrogate', 'ada\uD83D'],
    ['a zero-width space', 'ad\u200Ba'],
    ['a zero-width joiner', 'ad\u200Da'],
    ['a soft hyphen', 'ad\u00ADa'],
    ['a direction override', 'ad\u202Ea'],
    ['a variation selector', 'ad\uFE0Fa'],
    ['a grapheme joiner', 'ad\u034Fa'],
    ['blank letters', '\u3164\u3164'],
    ['a letter that NFKC expands to a space and a mark', 'ab\uFE70'],
  ])('rejects %s', (_, name) => {
    expectRejected(name, 'letters with their marks, digits');
  });

  test.each([
    ['five different marks', 'a\u0316\u0317\u0318\u0319\u031A'],
    ['the same mark twice', 'a\u0323\u0323'],
    ['the same mark twice, once precomposed', 'é\u0301'],
  ])('rejects stacked marks: %s', (_, name) => {
    expectRejected(name, 'at most 4 nonspacing marks');
  });

  test.each([
    ['Latin with Cyrillic', 'pаypal'],
    ['Latin with Greek', 'αlpha'],
    ['Latin with Cherokee', 'Ꭺda'],
    ['Latin with Devanagari', 'adaप्रिया'],
    ['Latin with a Devanagari digit', 'ada१'],
    ['mathematical Latin with Cyrillic', '𝐀𝐝аша'],
    ['Cyrillic with Greek', 'Машα'],
    ['Cyrillic with Han', 'Маша田中'],
    ['Cyrillic with the Kana prolonged sound mark', 'Машаー'],
    ['Kana with Hangul', 'さん민준'],
    ['Kana with Bopomofo', 'さんㄅㄆ'],
    ['Arabic with Hebrew', 'نורר'],
    ['a historic script', '𐌰𐌱𐌲'],
    ['blank hieroglyphs', '\u{13441}\u{13441}'],
  ])('rejects mixed and excluded scripts: %s', (_, name) => {
    expectRejected(name, 'one script');
  });

  test.each(['ada_', 'ada.', 'ada-', '-_-', 'a__b', 'a..b', 'a--b', 'ａｄａ．', 'ad\uFF3F_a'])(
    'rejects signs that are hard to see or count: %s',
    (name) => {
      expect(() => parseUsername(name)).toThrow(DomainError);
    },
  );

  test.each(['1דוד', '.דוד', '-1דוד', '٤٢نور', '٤-٢', 'نور1٢', '1نور'])(
    'rejects right-to-left names that could be displayed like another name: %s',
    (name) => {
      expectRejected(name, 'right-to-left');
    },
  );

  test.each(['ada_', 'a__b', '1דוד'])(
    'accepts %s as a username from before version 0.2.0',
    (name) => {
      expect(parseUsername(name, { isOld: true }).name).toBe(name);
      expect(() => parseUsername('ada\u200B', { isOld: true })).toThrow(DomainError);
    },
  );

  test('quickly rejects a long text that is expensive to normalise', {
    timeout: 5_000,
  }, () => {
    expectRejected('a\u0316\u0301'.repeat(300_000), '2 to 64');
  });

  test('rejects every character that JSON escapes', () => {
    const escaped = Array.from({ length: 0x110000 }, (_, code) =>
      String.fromCodePoint(code),
    ).filter((character) => !isPlainInJson(character.normalize('NFC')));
    expect(escaped).toContain('"');
    expect(
      escaped.filter((character) => tryParse(`a${character}b`) || tryParse(character + character)),
    ).toEqual([]);
  });

  test('throws a complete DomainError, or returns a name that JSON does not escape and that parses the same', () => {
    fc.assert(
      fc.property(fc.oneof(nearlyValidNames, anyText, singleScriptNames), (text) => {
        const username = tryParse(text);
        if (!username) return;
        expect(isPlainInJson(username.name)).toBe(true);
        expect(parseUsername(username.name)).toEqual(username);
      }),
      { numRuns: 4000 },
    );
  });
});

function isPlainInJson(text: string): boolean {
  return JSON.stringify(text) === `"${text}"`;
}

describe('usernameKey', () => {
  test.each([
    ['Ilya', 'ilya'],
    ['ADA', 'ada'],
    ['ÉLODIE', 'élodie'],
    ['E\u0301LODIE', 'élodie'],
    ['ΟΔΥΣΣΕΥΣ', 'οδυσσευσ'],
    ['STRASSE', 'straße'],
    ['GROẞ', 'groß'],
    ['Ａｄａ', 'ada'],
    ['𝐀𝐝𝐚', 'ada'],
    ['ﬁnn', 'FINN'],
    ['ﾀﾞﾅｶ', 'ダナカ'],
    ['ꭰꭱ', 'ᎠᎡ'],
    ['ılya', 'ILYA'],
    ['\u1FCC\u0342', '\u1FC7'],
  ])('is the same for %s and %s', (one, other) => {
    expect(usernameKey(one)).toBe(usernameKey(other));
  });

  test.each([
    ['Ilya', 'llya'],
    ['joao', 'joão'],
    ['ad.a', 'ada'],
    ['ad a', 'ada'],
    ['カ', '力'],
  ])('differs for %s and %s', (one, other) => {
    expect(usernameKey(one)).not.toBe(usernameKey(other));
  });

  test('ignores case and Unicode normalisation form', () => {
    fc.assert(
      fc.property(fc.oneof(nearlyValidNames, singleScriptNames), (text) => {
        const key = usernameKey(text);
        expect(usernameKey(key)).toBe(key);
        for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD']) {
          expect(usernameKey(text.normalize(form))).toBe(key);
        }
        // Decomposed, so that other marks precede an iota subscript. Its capital is a letter, to which they would move.
        const decomposed = text.normalize('NFKD');
        expect(usernameKey(decomposed.toUpperCase())).toBe(key);
        expect(usernameKey(decomposed.toLowerCase())).toBe(key);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('usernameSkeleton', () => {
  test.each([
    ['Ilya', 'llya'],
    ['Ilya', '1lya'],
    ['modem', 'modern'],
    ['Modem', 'modern'],
    ['paypal', 'pаypal'],
    ['PAYPAL', 'РАУРАL'],
    ['paypal', 'раураl'],
    ['alice', 'аlice'],
    ['scope', 'ѕсоре'],
    ['b0b', 'bOb'],
    ['bob', 'b0b'],
    ['op', 'ορ'],
    ['Li', 'ᏞᎥ'],
    ['ilya', 'i\u0307lya'],
    ['ilya', 'ılya'],
    ['ada', 'ad\u200Ba'],
    ['ada', 'Ａｄａ'],
    ['paypal', 'pаypaˡ'],
    ['力', 'カ'],
    ['ニ', '二'],
    ['palka', 'paӏka'],
    ['раӏа', 'РАӀА'],
    ['foo', 'ſoo'],
    ['co', 'ϲο'],
    ['Co', 'Ϲο'],
  ])('is the same for %s and %s', (one, other) => {
    expect(usernameSkeleton(one)).toBe(usernameSkeleton(other));
  });

  test.each([
    ['Ilya', 'ilya'],
    ['all', 'ali'],
    ['bob', 'rob'],
    ['joao', 'joão'],
    ['ad.a', 'ad_a'],
    ['ad a', 'ada'],
    ['田中', '由中'],
  ])('differs for %s and %s', (one, other) => {
    expect(usernameSkeleton(one)).not.toBe(usernameSkeleton(other));
  });

  test('returns the skeleton of an invalid username', () => {
    expect(tryParse('аlice')).toBeUndefined();
    expect(usernameSkeleton('аlice')).toBe(parseUsername('alice').skeleton);
  });

  test('is short enough for a PostgreSQL index, like the key', () => {
    // PostgreSQL indexes values of up to 2,704 bytes. The first letter has the longest skeleton of all characters.
    for (const letter of ['\uAF66', 'ᾧ', '語', 'm']) {
      const { key, skeleton } = parseUsername(letter.repeat(64));
      expect(Buffer.byteLength(key)).toBeLessThan(2704);
      expect(Buffer.byteLength(skeleton)).toBeLessThan(2704);
    }
  });
});

describe('isReserved', () => {
  test.each([
    'admin',
    'Admin',
    'ＡＤＭＩＮ',
    'аdmin',
    'adrnin',
    'ADMlN',
    'adm\u200Bin',
    'root',
    'r00t',
    'Space-Service',
    'space service',
    'me',
    'deleted',
    'supp0rt',
    'OffIcial',
    'admin_',
    'admin.',
    'Admin-',
    '_admin',
    '.-admin..',
    'supp0rt_',
    'Admin team',
    'the.moderators',
    'admin1',
    '007admin',
    'a.d.m.i.n',
    'a d m i n',
    'Space_Support',
  ])('is true for %s', (name) => {
    expect(isReserved(name)).toBe(true);
  });

  test.each([
    'ada',
    'admiral',
    'mel',
    'rooted',
    'badminton',
    'adminah',
    'root beer',
    'Ask me',
    'Staffan',
    'Маша',
    '',
  ])('is false for %j', (name) => {
    expect(isReserved(name)).toBe(false);
  });
});
