import { emailKey } from '../accounts/email.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { hashPassword, needsRehash, verifyPassword } from './password-hashing.ts';
import type { OpenedSession } from './registration.ts';
import { openSession } from './sessions.ts';

/**
 * Verifies a password and opens a session. An unknown address takes as long as a wrong password.
 * @throws DomainError `credentials_incorrect`
 */
export async function login(
  engine: Engine,
  email: string,
  password: string,
): Promise<OpenedSession> {
  const account = await engine.db
    .selectFrom('users')
    .select(['pk', 'user_id', 'password_hash'])
    .where('email_key', '=', emailKey(email))
    .executeTakeFirst();
  const isCorrect = await verifyPassword(account?.password_hash ?? null, password);
  if (!account?.password_hash || !isCorrect) throw credentialsIncorrect();

  const verified = account.password_hash;
  const rehashed = needsRehash(verified) ? await hashPassword(password) : verified;
  const token = await transact(engine.db, async (trx) => {
    // A concurrent change of the password wins: this login verified the old one.
    const { numUpdatedRows } = await trx
      .updateTable('users')
      .set({ password_hash: rehashed })
      .where('pk', '=', account.pk)
      .where('password_hash', '=', verified)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw credentialsIncorrect();
    return openSession(trx, account.pk);
  });
  return { userId: account.user_id, token };
}

function credentialsIncorrect(): DomainError {
  return new DomainError('credentials_incorrect', 'The email address or password is incorrect.');
}
