import { DomainError } from '../errors.ts';

/** What the HTML standard takes for an e-mail address (`<input type=email>`). ASCII only. */
export const EMAIL_PATTERN =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** In bytes: the longest address that SMTP can carry (RFC 5321, erratum 1690). */
const MAX_BYTES = 254;

export interface Email {
  /** As it was written. */
  email: string;
  /** Equal for two addresses that differ only in capitals. */
  key: string;
}

/** @throws DomainError `email_invalid` */
export function parseEmail(text: string): Email {
  if (text.length > MAX_BYTES) {
    throw emailInvalid(
      `An e-mail address has at most ${MAX_BYTES} bytes.`,
      `must have at most ${MAX_BYTES} bytes`,
    );
  }
  if (!EMAIL_PATTERN.test(text)) {
    throw emailInvalid(
      'An e-mail address is written name@example.com, in ASCII and without spaces. Write an international domain as xn--….',
      'must be an e-mail address such as name@example.com',
    );
  }
  return { email: text, key: emailKey(text) };
}

/** The key of any text: what it is looked up by. */
export function emailKey(text: string): string {
  return text.toLowerCase();
}

function emailInvalid(detail: string, message: string): DomainError {
  return new DomainError('email_invalid', detail, [{ pointer: '/email', message }]);
}
