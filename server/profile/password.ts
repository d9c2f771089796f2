import { checkNewPassword } from '../accounts/password.ts';
import {
  currentPasswordIncorrect,
  readCredentials,
  verifyCurrentPassword,
} from '../auth/current-password.ts';
import { hashPassword } from '../auth/password-hashing.ts';
import { HashReplacedError, retryReplacedHash } from '../auth/replaced-hashes.ts';
import { type Caller, endSessionsOfUser, requireSession } from '../auth/sessions.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { enqueueMail, revokeLinks } from '../mail/outbox.ts';

interface PasswordResources {
  engine: Engine;
  config: Pick<Config, 'mail'>;
}

/**
 * Changes the caller's password, ends all their other sessions, and makes links in mails stop working, except those that
 * verify the present address. Sends a notice.
 * @param language of the notice
 * @throws DomainError `password_…` if the new password breaks a rule, `current_password_incorrect`, or
 *   `unauthenticated` if the session has ended in the meantime
 */
export async function changePassword(
  resources: PasswordResources,
  caller: Caller,
  currentPassword: string,
  newPassword: string,
  language: string,
): Promise<void> {
  await retryReplacedHash(
    () => attemptChange(resources, caller, currentPassword, newPassword, language),
    currentPasswordIncorrect,
  );
}

async function attemptChange(
  { engine, config }: PasswordResources,
  caller: Caller,
  currentPassword: string,
  newPassword: string,
  language: string,
): Promise<void> {
  const account = await readCredentials(engine.db, caller);
  checkNewPassword(newPassword, account, '/newPassword');
  const verifiedHash = account.password_hash;
  await verifyCurrentPassword(verifiedHash, currentPassword);

  const password_hash = await hashPassword(newPassword);
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    // The password may have been changed concurrently, or a login may have rehashed it.
    const { numUpdatedRows } = await trx
      .updateTable('users')
      .set({ password_hash })
      .where('pk', '=', caller.userPk)
      .where('password_hash', '=', verifiedHash)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw new HashReplacedError();
    await endSessionsOfUser(trx, caller.userPk, caller.sessionPk);
    await revokeLinks(trx, caller.userPk, ['password-reset', 'email-change']);
    await enqueueMail(trx, config, {
      kind: 'password-changed',
      userPk: caller.userPk,
      address: account.email,
      language,
    });
  });
}
