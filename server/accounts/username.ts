import type { InvalidValueCode } from '../../generated/problem-codes.gen.ts';
import { DomainError } from '../errors.ts';
import { usernameKey, usernameSkeleton } from '../text/username-keys.ts';

/**
 * A username and its two unique keys. Both are needed: `ilya` and `Ilya` share only `key`, `llya` and `Ilya` share only
 * `skeleton`.
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
  return `[${scriptsOf(`Zyyy Zinh ${scripts}`)}]*`;
}

/** Returns the content of a character class for the given scripts. */
function scriptsOf(scripts: string): string {
  const properties = scripts.split(' ').map((script) => `\\p{scx=${script}}`);
  return `[${properties.join('')}]`;
}

/** Trailing signs look like punctuation of the surrounding text, and some fonts draw two identical signs as one. */
const AMBIGUOUS_SIGNS = /([._-])\1|[._-]$/;

/** Letters and digits with the bidirectional classes R and AL. */
const RTL_LETTER = String.raw`[[${scriptsOf('Adlm Arab Hebr Mand Nkoo Rohg Syrc Thaa')}&&\p{L}]\u07C0-\u07C9\u{1E950}-\u{1E959}]`;
/** Digits with the bidirectional class EN, and with AN. */
const EUROPEAN_DIGIT = String.raw`[0-9\u06F0-\u06F9]`;
const ARABIC_DIGIT = String.raw`[\u0660-\u0669\u{10D30}-\u{10D39}]`;
const HAS_RTL = new RegExp(`${RTL_LETTER}|${ARABIC_DIGIT}`, 'v');
/** The Bidi Rule of RFC 5893, which here also allows spaces. Different names that follow it never look the same. */
const RTL_NAME = new RegExp(
  [EUROPEAN_DIGIT, ARABIC_DIGIT]
    .map((digit) => `^${RTL_LETTER}[${RTL_LETTER}${MARK}${digit}._\\- ]*$`)
    .join('|'),
  'v',
);

interface Rule {
  isMet: (form: string) => boolean;
  code: InvalidValueCode;
  detail: string;
  message: string;
}

const LENGTH: Rule = {
  isMet: (form) => /^.{2,64}$/su.test(form),
  code: 'wrong_length',
  detail: 'A username has 2 to 64 characters, counted as Unicode code points.',
  message: 'must have 2 to 64 characters',
};
const CHARACTER_RULES: readonly Rule[] = [
  LENGTH,
  {
    isMet: (form) => CHARACTERS.test(form),
    code: 'forbidden_characters',
    detail:
      'A username consists of letters with their marks, digits, ".", "_", "-" and single inner spaces. Invisible characters are not accepted.',
    message: 'must consist of letters, digits, ".", "_", "-" and single inner spaces',
  },
  {
    isMet: (form) => !STACKED_MARKS.test(form.normalize('NFD')),
    code: 'too_many_marks',
    detail:
      'A username has at most 4 nonspacing marks in a row, and no mark twice in a row. Use fewer marks.',
    message: 'must have at most 4 nonspacing marks in a row, and no mark twice in a row',
  },
  {
    isMet: (form) => ONE_SCRIPT_SET.test(form),
    code: 'mixed_scripts',
    detail:
      'A username is written in one script that is in use today. Only Latin letters may be combined with Japanese, Chinese or Korean ones.',
    message: 'must be in one script, or in Latin with Japanese, Chinese or Korean',
  },
];
/** Rules since version 0.2.0. Names that were chosen before need not follow them. */
const ORDER_RULES: readonly Rule[] = [
  {
    isMet: (form) => !AMBIGUOUS_SIGNS.test(form),
    code: 'ambiguous_signs',
    detail:
      'A username does not end with ".", "_" or "-", and has none of them twice in a row. Remove the additional ones.',
    message: 'must not end with ".", "_" or "-" or have one of them twice in a row',
  },
  {
    isMet: (form) => !HAS_RTL.test(form) || RTL_NAME.test(form),
    code: 'mixed_directions',
    detail:
      'A right-to-left username begins with a letter and has digits of one kind only. Otherwise it could look like another name.',
    message:
      'must begin with a letter and have digits of one kind if it is written from right to left',
  },
];

/**
 * Parses a username. It is never trimmed or repaired. `chooseUsername` also checks that it is available.
 * @param isOld whether the name was chosen before version 0.2.0, which added rules
 * @throws DomainError `username_invalid`
 */
export function parseUsername(text: string, { isOld = false } = {}): Username {
  // The NFKC form must meet the rules, too: a character can expand to eighteen, or change its script. A text of invalid
  // length is not normalised, because that takes quadratic time on long sequences of combining marks.
  const forms = LENGTH.isMet(text) ? [text.normalize('NFC'), text.normalize('NFKC')] : [text];
  const rules = isOld ? CHARACTER_RULES : [...CHARACTER_RULES, ...ORDER_RULES];
  const brokenRule = rules.find(({ isMet }) => !forms.every(isMet));
  if (brokenRule) {
    const { code, detail, message } = brokenRule;
    throw new DomainError('username_invalid', detail, [{ pointer: '/username', code, message }]);
  }
  const name = text.normalize('NFC');
  return { name, key: usernameKey(name), skeleton: usernameSkeleton(name) };
}
