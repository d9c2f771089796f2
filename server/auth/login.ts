import { emailKey } from '../accounts/email.ts';
import type { Quotas } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { hashPassword, needsRehash, verifyPassword } from './password-hashing.ts';
import { type OpenedSession, openSession } from './sessions.ts';

/**
 * Verifies a password and opens a session. An unknown email address takes as long as a wrong password.
 * @throws DomainError `credentials_incorrect`
 */
export async function login(
  { engine, quotas }: { engine: Engine; quotas: Pick<Quotas, 'maxSessions'> },
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

  const verifiedHash = account.password_hash;
  const newHash = needsRehash(verifiedHash) ? await hashPassword(password) : verifiedHash;
  const token = await transact(engine.db, async (trx) => {
    // If the password was changed concurrently, this login has verified the old one and fails.
    const { numUpdatedRows } = await trx
      .updateTable('users')
      .set({ password_hash: newHash })
      .where('pk', '=', account.pk)
      .where('password_hash', '=', verifiedHash)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw credentialsIncorrect();
    return openSession(trx, account.pk, quotas);
  });
  return { userId: account.user_id, token };
}

function credentialsIncorrect(): DomainError {
  return new DomainError('credentials_incorrect', 'The email address or password is incorrect.');
}
