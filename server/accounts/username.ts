import unhomoglyph from 'unhomoglyph';
import { DomainError } from '../errors.ts';

/**
 * A username and its two unique keys. Both are needed: `ilya` and `Ilya` share only `key`, `llya` and `Ilya` share only
 * `skeleton`.
 *
 * Both keys are stored. A change to their algorithms or to unhomoglyph's tables requires a migration.
 */
export interface Username {
  /** As written, in NFC. Contains no character that JSON escapes: `resultJson` inserts it into JSON text as it is. */
  name: string;
  key: string;
  skeleton: string;
}

const LETTER_OR_DIGIT = String.raw`[[\p{L}\p{Nd}]--\p{DI}]`;
const MARK = String.raw`[\p{M}--\p{DI}]`;
const CHARACTERS = new RegExp(`^(?! )(?: ?(?:${LETTER_OR_DIGIT}${MARK}*|[._\\-]))+$`, 'v');

/** UTS 39, 5.4: a repeated mark looks like a single one, and long sequences cover the surrounding text. */
const STACKED_MARKS = /([\p{Mn}\p{Me}])\1|[\p{Mn}\p{Me}]{5}/v;

/** Recommended and limited-use scripts in use today (UAX 31, tables 5 and 7, and Mongolian). */
const SINGLE_SCRIPTS = `
  Adlm Arab Armn Bali Bamu Batk Beng Cakm Cans Cham Cher Cyrl Deva Ethi Geor Grek Gujr Guru Hebr Hmnp Java Kali Khmr
  Knda Lana Laoo Lepc Limb Lisu Mand Mlym Mong Mtei Mymr Newa Nkoo Olck Orya Osge Plrd Rohg Saur Sinh Sund Sylo Syrc
  Tale Talu Taml Tavt Telu Tfng Thaa Thai Tibt Vaii Wcho Yiii`;
/** The restriction level "Highly Restrictive" of UTS 39: one of these sets contains all scripts of a name. */
const SCRIPT_SETS = [
  'Latn Hani Hira Kana',
  'Latn Hani Bopo',
  'Latn Hani Hang',
  ...SINGLE_SCRIPTS.trim().split(/\s+/),
];
const ONE_SCRIPT_SET = new RegExp(`^(?:${SCRIPT_SETS.map(patternOf).join('|')})$`, 'v');

/** Returns a pattern for text in the given scripts, by Script_Extensions. Common and Inherited are always allowed. */
function patternOf(scripts: string): string {
  const sets = `Zyyy Zinh ${scripts}`.split(' ').map((script) => `\\p{scx=${script}}`);
  return `[${sets.join('')}]*`;
}

interface Rule {
  isMet: (form: string) => boolean;
  detail: string;
  message: string;
}

const LENGTH: Rule = {
  isMet: (form) => /^.{2,64}$/su.test(form),
  detail: 'A username has 2 to 64 characters, counted as Unicode code points.',
  message: 'must have 2 to 64 characters',
};
const RULES: readonly Rule[] = [
  LENGTH,
  {
    isMet: (form) => CHARACTERS.test(form),
    detail:
      'A username consists of letters with their marks, digits, ".", "_", "-" and single inner spaces. Invisible characters are not accepted.',
    message: 'must consist of letters, digits, ".", "_", "-" and single inner spaces',
  },
  {
    isMet: (form) => !STACKED_MARKS.test(form.normalize('NFD')),
    detail:
      'A username has at most 4 nonspacing marks in a row, and no mark twice in a row. Use fewer marks.',
    message: 'must have at most 4 nonspacing marks in a row, and no mark twice in a row',
  },
  {
    isMet: (form) => ONE_SCRIPT_SET.test(form),
    detail:
      'A username is written in one script that is in use today. Only Latin letters may be combined with Japanese, Chinese or Korean ones.',
    message: 'must be in one script, or in Latin with Japanese, Chinese or Korean',
  },
];

/**
 * Parses a username. It is never trimmed or repaired.
 *
 * Call `assertUsernameAvailable` first: a look-alike of an existing name is reported as taken even if it is malformed.
 * @throws DomainError `username_invalid`
 */
export function parseUsername(text: string): Username {
  // The NFKC form must meet the rules, too: a character can expand to eighteen, or change its script. A text of invalid
  // length is not normalised, because that takes quadratic time on long sequences of combining marks.
  const forms = LENGTH.isMet(text) ? [text.normalize('NFC'), text.normalize('NFKC')] : [text];
  const brokenRule = RULES.find(({ isMet }) => !forms.every(isMet));
  if (brokenRule) {
    const { detail, message } = brokenRule;
    throw new DomainError('username_invalid', detail, [{ pointer: '/username', message }]);
  }
  const name = text.normalize('NFC');
  return { name, key: usernameKey(name), skeleton: usernameSkeleton(name) };
}

/** Returns a key that ignores case and compatibility forms such as full width. Accepts any text. */
export function usernameKey(text: string): string {
  // Full case folding, because lower case alone would distinguish ß from ss, and ς from σ.
  const folded = text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase();
  return folded.normalize('NFKC');
}

/** Returns a key that is equal for names that look alike, such as `modem` and `modern`. Accepts any text. */
export function usernameSkeleton(text: string): string {
  // Also before folding, because upper-case letters have other look-alikes: I resembles l, but i does not.
  return prototype(usernameKey(prototype(text.normalize('NFKC'))));
}

/** The skeleton of UTS 39, section 4. Also removes U+0307 after soft-dotted letters such as i, where it is invisible. */
function prototype(text: string): string {
  const visible = text.normalize('NFD').replace(/\p{DI}|(?<=\p{SD})\u0307/gv, '');
  return unhomoglyph(visible).normalize('NFD');
}

/** Names that suggest an official role, or no particular user. */
const RESERVED = [
  ...'admin administrator moderator official owner root security staff'.split(' '),
  ...'help support system team anonymous deleted everyone me nobody'.split(' '),
  ...'spaceservice space-service space.service space_service'.split(' '),
  'space service',
];
const RESERVED_KEYS = new Set(RESERVED.map(usernameKey));
// Also in upper case, because the skeleton of `ADMIN` differs from that of `admin`: I resembles l.
const RESERVED_SKELETONS = new Set(
  RESERVED.flatMap((name) => [name, name.toUpperCase()]).map(usernameSkeleton),
);

/** Whether a name is reserved or looks like a reserved one. Accepts any text. */
export function isReserved(text: string): boolean {
  return RESERVED_KEYS.has(usernameKey(text)) || RESERVED_SKELETONS.has(usernameSkeleton(text));
}

/** @throws DomainError `username_reserved` */
export function assertNotReserved(text: string): void {
  if (!isReserved(text)) return;
  throw new DomainError('username_reserved', 'That username is reserved. Choose another.', [
    { pointer: '/username', message: 'is reserved' },
  ]);
}
