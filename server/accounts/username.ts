import unhomoglyph from 'unhomoglyph';
import { DomainError } from '../errors.ts';

/**
 * A username, with the two texts by which it is unique. Neither does the other's work: only the key
 * knows that `ilya` is `Ilya`, and only the skeleton that `llya` looks like `Ilya`.
 *
 * Both are stored: whoever changes how they are made, or unhomoglyph's tables, has to make them anew.
 */
export interface Username {
  /** As it was written, in NFC. It holds no character that JSON escapes. */
  name: string;
  key: string;
  skeleton: string;
}

const LETTER_OR_DIGIT = String.raw`[[\p{L}\p{Nd}]--\p{DI}]`;
const MARK = String.raw`[\p{M}--\p{DI}]`;
const CHARACTERS = new RegExp(`^(?! )(?: ?(?:${LETTER_OR_DIGIT}${MARK}*|[._\\-]))+$`, 'v');

/** UTS 39, 5.4: two of the same look like one, and long piles cover the text around them. */
const PILED_MARKS = /([\p{Mn}\p{Me}])\1|[\p{Mn}\p{Me}]{5}/v;

/**
 * The restriction level "Highly Restrictive" of UTS 39: the scripts of a name are all in one of these
 * lists. The scripts are those in use today (UAX 31, tables 5 and 7, and Mongolian).
 */
const SCRIPTS = [
  ...['Latn Hani Hira Kana', 'Latn Hani Bopo', 'Latn Hani Hang'],
  ...'Adlm Arab Armn Bali Bamu Batk Beng Cakm Cans Cham Cher Cyrl Deva Ethi Geor'.split(' '),
  ...'Grek Gujr Guru Hebr Hmnp Java Kali Khmr Knda Lana Laoo Lepc Limb Lisu Mand'.split(' '),
  ...'Mlym Mong Mtei Mymr Newa Nkoo Olck Orya Osge Plrd Rohg Saur Sinh Sund Sylo'.split(' '),
  ...'Syrc Tale Talu Taml Tavt Telu Tfng Thaa Thai Tibt Vaii Wcho Yiii'.split(' '),
];
const WRITTEN_TOGETHER = new RegExp(`^(?:${SCRIPTS.map(textIn).join('|')})$`, 'v');

/** A pattern for text in some scripts. Script_Extensions decide; Common and Inherited are free. */
function textIn(scripts: string): string {
  const sets = `Zyyy Zinh ${scripts}`.split(' ').map((script) => `\\p{scx=${script}}`);
  return `[${sets.join('')}]*`;
}

interface Rule {
  isKept: (form: string) => boolean;
  detail: string;
  message: string;
}

const LENGTH: Rule = {
  isKept: (form) => /^.{2,64}$/su.test(form),
  detail: 'A username has 2 to 64 characters, counted as Unicode code points.',
  message: 'must have 2 to 64 characters',
};
const RULES: readonly Rule[] = [
  LENGTH,
  {
    isKept: (form) => CHARACTERS.test(form),
    detail:
      'A username is made of letters with their marks, digits, ".", "_", "-" and single spaces in between. Nothing invisible is accepted.',
    message: 'must be of letters, digits, ".", "_", "-" and single inner spaces',
  },
  {
    isKept: (form) => !PILED_MARKS.test(form.normalize('NFD')),
    detail: 'A username has at most 4 nonspacing marks in a row, and none of them twice in a row.',
    message: 'must not pile up marks',
  },
  {
    isKept: (form) => WRITTEN_TOGETHER.test(form),
    detail:
      'A username is written in one script, of those in use today. Latin letters may also stand beside Japanese, Chinese or Korean ones.',
    message: 'must be in one script, or in Latin with Japanese, Chinese or Korean',
  },
];

/**
 * Reads a username. It is never trimmed or repaired: what breaks a rule is refused.
 *
 * Ask first whether its key or skeleton is taken: that a look-alike of somebody's name also mixes
 * scripts is the lesser fault.
 * @throws DomainError `username_invalid`
 */
export function parseUsername(text: string): Username {
  // The rules hold for the NFKC form too, lest one character stand for eighteen or for another script.
  // Texts of any length are not normalised at all: on a long row of marks, that takes quadratic time.
  const forms = LENGTH.isKept(text) ? [text.normalize('NFC'), text.normalize('NFKC')] : [text];
  const broken = RULES.find(({ isKept }) => !forms.every(isKept));
  if (broken) {
    const { detail, message } = broken;
    throw new DomainError('username_invalid', detail, [{ pointer: '/username', message }]);
  }
  const name = text.normalize('NFC');
  return { name, key: usernameKey(name), skeleton: usernameSkeleton(name) };
}

/** Equal for names that differ only in case or in compatibility forms such as full width. For any text. */
export function usernameKey(text: string): string {
  // Full case folding. Lower case alone would leave ß apart from ss, and ς from σ.
  const folded = text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase();
  return folded.normalize('NFKC');
}

/** Equal for names that can be taken for each other by their looks: `modem` and `modern`. For any text. */
export function usernameSkeleton(text: string): string {
  // Capitals have looks of their own (I is l, i is not), so they are judged before they are folded away.
  return prototype(usernameKey(prototype(text.normalize('NFKC'))));
}

/** The skeleton of UTS 39, section 4, and what its tables leave out: i hides a dot above it. */
function prototype(text: string): string {
  const visible = text.normalize('NFD').replace(/\p{DI}|(?<=\p{SD})\u0307/gv, '');
  return unhomoglyph(visible).normalize('NFD');
}

/** Names that would make their owner look like the service itself, or like nobody. */
const RESERVED = [
  ...['admin', 'administrator', 'moderator', 'official', 'owner', 'root', 'security', 'staff'],
  ...['help', 'support', 'system', 'team', 'space-service', 'space.service', 'space_service'],
  ...['space service', 'spaceservice', 'anonymous', 'deleted', 'everyone', 'me', 'nobody'],
];
const RESERVED_KEYS = new Set(RESERVED.map(usernameKey));
const RESERVED_SKELETONS = new Set(
  RESERVED.flatMap((name) => [name, name.toUpperCase()]).map(usernameSkeleton),
);

/** Whether a name is one that the service keeps for itself, or looks like one. For any text. */
export function isReserved(text: string): boolean {
  return RESERVED_KEYS.has(usernameKey(text)) || RESERVED_SKELETONS.has(usernameSkeleton(text));
}
