import { componentSchema } from '../contract.ts';
import type { Database } from '../database/engine.ts';
import { DomainError } from '../errors.ts';

/** A valid email address as the HTML standard defines it for `<input type=email>`. ASCII only. */
const PATTERN = new RegExp(componentSchema('Email').pattern ?? '');

/** The longest address that SMTP can transport (RFC 5321; RFC 3696, erratum 1690). */
const MAX_BYTES = 254;

export interface Email {
  /** As written. */
  email: string;
  /** Equal for addresses that differ only in case. */
  key: string;
}

/**
 * Parses an email address. It is never trimmed or repaired.
 * @throws DomainError `email_invalid`
 */
export function parseEmail(text: string): Email {
  if (text.length > MAX_BYTES) {
    throw emailInvalid(
      `An email address has at most ${MAX_BYTES} bytes.`,
      `must have at most ${MAX_BYTES} bytes`,
    );
  }
  if (!PATTERN.test(text)) {
    throw emailInvalid(
      'This is not an email address. Write it as name@example.com, in ASCII and without spaces, with an international domain as xn--….',
      'must be an email address such as name@example.com',
    );
  }
  return { email: text, key: emailKey(text) };
}

/** Returns the unique key of an address, which ignores case. Accepts any text. */
export function emailKey(text: string): string {
  return text.toLowerCase();
}

/** Returns a key of the mailbox of an address. Addresses that differ only after a `+` usually have the same mailbox. */
export function mailboxKey(address: string): string {
  return emailKey(address).replace(/\+[^@]*(?=@)/, '');
}

/**
 * Concurrent requests can both pass. The unique index then rejects one of them.
 * @param userPk the user who changes the address; their current one counts as available
 * @throws DomainError `email_taken`
 */
export async function assertEmailAvailable(
  db: Database,
  key: string,
  userPk?: number,
): Promise<void> {
  const owner = await db
    .selectFrom('users')
    .select('pk')
    .where('email_key', '=', key)
    .executeTakeFirst();
  if (owner && owner.pk !== userPk) {
    throw new DomainError(
      'email_taken',
      'An account with this email address already exists. Sign in, or use another address.',
      [{ pointer: '/email', message: 'is taken' }],
    );
  }
}

function emailInvalid(detail: string, message: string): DomainError {
  return new DomainError('email_invalid', detail, [{ pointer: '/email', message }]);
}
