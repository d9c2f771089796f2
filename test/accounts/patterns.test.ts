import { createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseBio } from '../../server/accounts/bio.ts';
import { parseEmail } from '../../server/accounts/email.ts';
import { normalizePassword } from '../../server/accounts/password.ts';
import { parseUsername } from '../../server/accounts/username.ts';
import { parseDeviceName } from '../../server/auth/device-name.ts';
import { componentSchema } from '../../server/contract.ts';
import { openCursor, sealCursor } from '../../server/http/cursors.ts';
import { assertMessageText } from '../../server/messages/message-text.ts';
import { assertReason } from '../../server/reports/reports.ts';
import { parseDescription, parseTitle } from '../../server/spaces/space-text.ts';
import { parseTags } from '../../server/spaces/tags.ts';
import { isStorable } from '../../server/text/characters.ts';
import { parseTokenName } from '../../server/tokens/tokens.ts';
import { openapi } from '../support/openapi.ts';

type TextSchema = ReturnType<typeof componentSchema>;
const KEY = createSecretKey(new Uint8Array(32));

const passwordRule = (text: string) => {
  if (normalizePassword(text) === undefined || !isStorable(text)) throw new Error('rejected');
};

/** A kind of text, its schema, the rule that accepts or rejects it, and texts that the pattern rejects. */
const texts: [string, TextSchema | undefined, (text: string) => unknown, string[]][] = [
  [
    'a username',
    componentSchema('Username'),
    parseUsername,
    ['a!', ' ada', 'a  b', 'a\tb', 'a\xa0b'],
  ],
  ['an email address', componentSchema('Email'), parseEmail, ['ada', 'a b@c', 'a@b.', 'é@b.c']],
  ['a bio', componentSchema('BioChange', 'bio'), parseBio, ['a\0', 'a\tb', 'a\rb', '\x9f']],
  [
    'the name of a device',
    componentSchema('DeviceName'),
    parseDeviceName,
    ['a\0b', ' ', 'a\x1bb', '\n\t', 'a\tb', 'a\nb'],
  ],
  [
    'the name of an access token',
    componentSchema('TokenName'),
    parseTokenName,
    ['a\0b', ' ', 'a\x1bb', '\n\t', 'a\tb', 'a\nb'],
  ],
  [
    'a title',
    componentSchema('SpaceTitle'),
    parseTitle,
    ['a\0b', ' ', 'a\x1bb', '\n\t', 'a\tb', 'a\nb'],
  ],
  ['a description', componentSchema('SpaceDescription'), parseDescription, ['\0', 'a\x7f', 'a\tb']],
  ['a tag', componentSchema('TagNames').items, (text) => parseTags([text]), ['#', ' ', 'a\x01']],
  ['a message', componentSchema('MessageText'), assertMessageText, [' ', '\n', 'a\vb', 'a\0']],
  [
    'the reason of a report',
    componentSchema('ReportCreation', 'reason'),
    assertReason,
    [' ', '\t', 'a\x1b', 'a\0'],
  ],
  ['a password', componentSchema('Password'), passwordRule, ['a\0']],
  ['a new password', componentSchema('NewPassword'), passwordRule, ['long enough\0']],
  [
    'an invitation code',
    componentSchema('Invitation', 'invitation_code'),
    // Public spaces ignore the code, so the server accepts any storable text.
    (text) => expect(isStorable(text)).toBe(true),
    ['a\0'],
  ],
  [
    'a cursor',
    openapi.components.parameters.Cursor.schema,
    (text) => openCursor(KEY, 'list', text),
    ['', 'a=b', 'a b', 'a%20'],
  ],
];

/** Characters that rules and patterns treat in special ways, and some that they do not. */
const PIECES = [
  ...Array.from('aZé1Σяप日민😀𝐀<=>;`.,:@[]^_-~/\\#!?*|{}()+$&\'"'),
  ...Array.from('\0\x01\b\t\n\v\f\r\x1c\x1f \x7f\x80\x85\x9f\xa0\xad'),
  ...Array.from('\u0301\u0338\u037e\u0387\u1fef\u2000\u200b\u2028\u2029\u3000\ufeff\uff03'),
  '\r\n',
  '\ud83d',
];
const anyText = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 6 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.emailAddress(),
  fc.stringMatching(/^[A-Za-z0-9_-]{22}$/),
  fc.integer().map((position) => sealCursor(KEY, 'list', [position])),
);

// Most of the time of a rejection is its stack trace.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

const isAccepted = (rule: (text: string) => unknown, text: string) => {
  try {
    rule(text);
    return true;
  } catch {
    return false;
  }
};

describe.each(texts)('The pattern of %s', (_, schema, rule, unmatched) => {
  const { pattern = '', minLength = 0, maxLength = 0 } = schema as TextSchema;
  const forms = [new RegExp(pattern), new RegExp(pattern, 'u')];
  const matches = (text: string) => forms.map((form) => form.test(text));

  // A narrow rule accepts few other texts. Short ones are accepted more often, unless they are too short.
  const shortMatch = fc
    .stringMatching(forms[0] as RegExp, { size: 'xsmall' })
    .map((text) => text.repeat(Math.ceil(minLength / (text.length || 1)) || 1));
  const almostMatching = fc
    .tuple(shortMatch, fc.nat(), fc.oneof(fc.constant(''), fc.constantFrom(...PIECES)))
    .map(([text, position, piece]) => {
      const index = position % (text.length + 1);
      return text.slice(0, index) + piece + text.slice(index);
    });

  test('matches all texts that the server accepts', () => {
    const accepted: string[] = [];
    const rejected: string[] = [];
    fc.assert(
      fc.property(fc.oneof(anyText, anyText, almostMatching), (text) => {
        const length = Array.from(text).length;
        if (length < minLength || length > maxLength) return;
        if (isAccepted(rule, text)) {
          accepted.push(text);
          expect(matches(text)).toEqual([true, true]);
        } else {
          rejected.push(text);
        }
      }),
      { numRuns: 30_000 },
    );
    // Otherwise, the generated texts are not those on which the pattern and the rule can differ.
    expect(accepted.length, 'accepted texts').toBeGreaterThan(1_000);
    expect(new Set(accepted).size, 'different accepted texts').toBeGreaterThan(100);
    expect(new Set(rejected).size, 'different rejected texts').toBeGreaterThan(100);
  });

  // Three letters with one of these ends are accepted, except as a cursor, which is encrypted.
  const end = ['', '@example.com', ' and more'].find((each) => isAccepted(rule, `aaa${each}`));
  test.skipIf(end === undefined)('matches every accepted character at each position', () => {
    const wrong: string[] = [];
    for (let code = 0; code <= 0xffff; code += 1) {
      const character = String.fromCharCode(code);
      for (const start of [`${character}aa`, `a${character}a`, `aa${character}`]) {
        const text = start + end;
        // The rule last, because it is much slower than the pattern.
        if (matches(text).includes(false) && isAccepted(rule, text)) wrong.push(text);
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each(unmatched)('rejects %j', (text) => {
    expect(matches(text)).toEqual([false, false]);
  });
});

/** Of the headers for conditional requests. A malformed value matches nothing. */
const ANYTHING = '^.*$';

/** Every schema of the contract with a pattern, wherever it is. */
const schemas: TextSchema[] = [];
JSON.parse(JSON.stringify(openapi), (_, value) => {
  if (typeof value?.pattern === 'string') schemas.push(value);
  return value;
});
const patterns = new Set(schemas.map(({ pattern = '' }) => pattern));

test('The tests above cover every schema with a pattern, except those whose patterns the server itself checks', () => {
  // By the whole schema, because the functions of two equal patterns can differ.
  const covered = texts.map(([, schema]) => JSON.stringify(schema));
  const missing = schemas.filter(
    (schema) =>
      schema.pattern !== ANYTHING &&
      !schema['x-pattern-message'] &&
      !covered.includes(JSON.stringify(schema)),
  );
  expect(missing).toEqual([]);
});

test.each([...patterns])('%s has the same meaning in ECMA-262, RE2, Java and Python', (pattern) => {
  // Look-around, back references, Unicode classes and escapes, anchors other than ^ and $, set operations in classes.
  expect(pattern).not.toMatch(/\(\?(?!:)|\\[1-9pPuUkbBAzZ]|\[\^?\[|&&|--/);
  // Possessive quantifiers.
  expect(pattern.replaceAll(/\[.*?\]/g, '')).not.toMatch(/[*+?}]\+/);
  expect(pattern).toMatch(/^\^.*\$$/);
});
