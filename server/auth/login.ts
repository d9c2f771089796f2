import { emailKey } from '../accounts/email.ts';
import type { Quotas } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { parseDeviceName } from './device-name.ts';
import { hashPassword, needsRehash, verifyPassword } from './password-hashing.ts';
import { HashReplacedError, retryReplacedHash } from './replaced-hashes.ts';
import { hasSessionOn, type OpenedSession, openSession } from './sessions.ts';

interface LoginResources {
  engine: Engine;
  quotas: Pick<Quotas, 'maxSessions'>;
}

export interface Login extends OpenedSession {
  /** Whether the account has no other session with the same device name. True without a name. */
  isNewDevice: boolean;
}

/**
 * Verifies a password and opens a session. An unknown email address takes as long as a wrong password.
 * @throws DomainError `invalid_request`; `credentials_incorrect`; `account_suspended`, only if the password is correct
 */
export function login(
  resources: LoginResources,
  email: string,
  password: string,
  device?: string | null,
): Promise<Login> {
  const deviceName = parseDeviceName(device);
  return retryReplacedHash(
    () => attemptLogin(resources, email, password, deviceName),
    credentialsIncorrect,
  );
}

async function attemptLogin(
  { engine, quotas }: LoginResources,
  email: string,
  password: string,
  deviceName: string | null,
): Promise<Login> {
  const account = await engine.db
    .selectFrom('users')
    .select(['pk', 'user_id', 'password_hash'])
    .where('email_key', '=', emailKey(email))
    .executeTakeFirst();
  const isCorrect = await verifyPassword(account?.password_hash ?? null, password);
  if (!account?.password_hash || !isCorrect) throw credentialsIncorrect();

  const verifiedHash = account.password_hash;
  const newHash = needsRehash(verifiedHash) ? await hashPassword(password) : verifiedHash;
  return transact(engine, async (trx) => {
    // The password may have been changed concurrently, or another login may have rehashed it.
    const updated = await trx
      .updateTable('users')
      .set({ password_hash: newHash })
      .where('pk', '=', account.pk)
      .where('password_hash', '=', verifiedHash)
      .returning('suspended_at')
      .executeTakeFirst();
    if (!updated) throw new HashReplacedError();
    if (updated.suspended_at !== null) throw accountSuspended();
    const isNewDevice = deviceName === null || !(await hasSessionOn(trx, account.pk, deviceName));
    const token = await openSession(trx, account.pk, deviceName, quotas);
    return { userId: account.user_id, token, isNewDevice };
  });
}

function accountSuspended(): DomainError {
  return new DomainError(
    'account_suspended',
    'The operator of this server has suspended the account.',
  );
}

function credentialsIncorrect(): DomainError {
  return new DomainError('credentials_incorrect', 'The email address or password is incorrect.');
}
