import { readFileSync } from 'node:fs';
import { DomainError, type ErrorCode } from '../errors.ts';

/** In code points: the shortest in NFC, the longest as sent. */
const MIN_LENGTH = 8;
const MAX_LENGTH = 256;

/**
 * The 3,000 commonest passwords of 8 characters or more, commonest first, folded. From
 * @zxcvbn-ts/language-common 4.1.3 (MIT, see common-passwords.LICENSE.txt).
 */
const COMMON = new Set(
  readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n'),
);

/**
 * Refuses a password that nobody should have, or that this account should not have.
 * @param pointer where in the request the password is
 * @throws DomainError `password_invalid`, `password_too_common`, `password_names_you`
 */
export function checkNewPassword(
  password: string,
  { username, email }: { username: string; email: string },
  pointer: string,
): void {
  const refuse = (code: ErrorCode, detail: string, message: string) =>
    new DomainError(code, detail, [{ pointer, message }]);

  if (!isPossible(password) || length(password.normalize('NFC')) < MIN_LENGTH) {
    throw refuse(
      'password_invalid',
      `A password has ${MIN_LENGTH} to ${MAX_LENGTH} characters of any kind, in well-formed Unicode.`,
      `must have ${MIN_LENGTH} to ${MAX_LENGTH} characters`,
    );
  }
  const folded = fold(password);
  if (COMMON.has(folded)) {
    throw refuse(
      'password_too_common',
      'That is one of the 3,000 commonest passwords, however it is capitalised. Choose one that is harder to guess.',
      'is one of the commonest passwords',
    );
  }
  const [localPart = ''] = email.split('@');
  if ([username, email, localPart].map(fold).includes(folded)) {
    throw refuse(
      'password_names_you',
      'The password is your username or e-mail address, or the part of it before the @. Choose another.',
      'must not be your username or address',
    );
  }
}

/** Whether it can be anyone's password. Asked before NFC, which takes quadratic time on rows of marks. */
export function isPossible(password: string): boolean {
  return length(password) <= MAX_LENGTH && password.isWellFormed();
}

function length(text: string): number {
  return Array.from(text).length;
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
