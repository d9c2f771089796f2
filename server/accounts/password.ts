import { readFileSync } from 'node:fs';
import type { InvalidValueCode, ProblemCode } from '../../generated/problem-codes.gen.ts';
import { DomainError } from '../errors.ts';
import { countCodePoints, isStorable } from '../text/characters.ts';

/** After normalisation to NFC. */
const MIN_CODE_POINTS = 8;
/** Before normalisation. */
const MAX_CODE_POINTS = 256;

/**
 * The 3,000 most common passwords with at least 8 characters, as returned by `comparisonForm`. Source:
 * @zxcvbn-ts/language-common 4.1.3 (MIT, see common-passwords.LICENSE.txt).
 */
const COMMON_PASSWORDS = new Set(
  readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n'),
);

/**
 * Rejects a weak password, or one derived from this account.
 * @param pointer JSON pointer to the password in the request
 * @throws DomainError `password_invalid`, `password_too_common`, `password_names_you`
 */
export function checkNewPassword(
  password: string,
  { username, email }: { username: string; email: string },
  pointer: string,
): void {
  const passwordError = (
    code: ProblemCode,
    detail: string,
    message: string,
    valueCode: InvalidValueCode | ProblemCode = code,
  ) => new DomainError(code, detail, [{ pointer, code: valueCode, message }]);

  const normalized = normalizePassword(password);
  const isValid =
    normalized !== undefined &&
    countCodePoints(normalized) >= MIN_CODE_POINTS &&
    // A password from a command can contain NUL, but no request to sign in can.
    isStorable(password);
  if (!isValid) {
    throw passwordError(
      'password_invalid',
      `A password has ${MIN_CODE_POINTS} to ${MAX_CODE_POINTS} characters of any kind except NUL, in well-formed Unicode.`,
      `must have ${MIN_CODE_POINTS} to ${MAX_CODE_POINTS} characters`,
      'wrong_length',
    );
  }
  const form = comparisonForm(password);
  if (COMMON_PASSWORDS.has(form)) {
    throw passwordError(
      'password_too_common',
      'This is one of the 3,000 most common passwords, ignoring case. Choose one that is harder to guess.',
      'is one of the most common passwords',
    );
  }
  const [localPart = ''] = email.split('@');
  if ([username, email, localPart].map(comparisonForm).includes(form)) {
    throw passwordError(
      'password_names_you',
      'The password is your username or email address, or the part of it before the @. Choose another.',
      'must not be your username or email address',
    );
  }
}

/**
 * Returns the NFC form of a password, which is the one to hash; undefined if the password is too long or malformed.
 *
 * The length is checked first, because normalisation takes quadratic time on long sequences of combining marks.
 */
export function normalizePassword(password: string): string | undefined {
  if (countCodePoints(password) > MAX_CODE_POINTS || !password.isWellFormed()) return undefined;
  return password.normalize('NFC');
}

/** Ignores case and compatibility forms such as full width. */
function comparisonForm(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
