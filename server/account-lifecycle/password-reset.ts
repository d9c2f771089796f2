import { selectAccount } from '../accounts/account.ts';
import { parseEmail } from '../accounts/email.ts';
import { checkNewPassword } from '../accounts/password.ts';
import { hashPassword } from '../auth/password-hashing.ts';
import type { Config } from '../config.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { transact } from '../database/transaction.ts';
import { requireLink } from '../mail/links.ts';
import { enqueueMail, requireMail, revokeLinks } from '../mail/outbox.ts';

interface ResetResources {
  engine: Engine;
  config: Pick<Config, 'mail'>;
}

/**
 * Sends a link to choose a new password, if an account has the address. Does not look it up, so that the time is the same.
 * @param language of the mail
 * @throws DomainError `mail_disabled`, `email_invalid`
 */
export async function requestPasswordReset(
  { engine, config }: ResetResources,
  email: string,
  language: string,
): Promise<void> {
  requireMail(config);
  const { key } = parseEmail(email);
  await transact(engine, (trx) =>
    enqueueMail(trx, config, { kind: 'password-reset', userPk: null, address: key, language }),
  );
}

/**
 * Replaces the password of the account that a link was sent to, and verifies its address. Ends all its sessions, makes all
 * its other links stop working, and sends a notice.
 * @param token    of the link
 * @param language of the notice
 * @throws DomainError `invalid_token`; `password_…`, after which the link still works
 */
export async function resetPassword(
  { engine, config }: ResetResources,
  token: string,
  newPassword: string,
  language: string,
): Promise<void> {
  const account = await requireLink(engine.db, token, ['password-reset']);
  checkNewPassword(newPassword, account, '/newPassword');
  const passwordHash = await hashPassword(newPassword);
  await transact(engine, async (trx) => {
    // Another request may have used the link meanwhile.
    const { userPk, email } = await requireLink(trx, token, ['password-reset']);
    await replacePassword(trx, userPk, { password_hash: passwordHash, is_verified: 1 });
    await enqueueMail(trx, config, { kind: 'password-changed', userPk, address: email, language });
  });
}

/**
 * Replaces the password of an account, ends all its sessions, and makes links in mails stop working. For the operator:
 * does not check the current password.
 * @param account an email address or a user id
 * @returns whether the account exists
 * @throws DomainError `password_…`
 */
export async function setPassword(
  engine: Engine,
  account: string,
  password: string,
): Promise<boolean> {
  const user = await selectAccount(engine.db, account)
    .select(['pk', 'username', 'email'])
    .executeTakeFirst();
  if (!user) return false;
  checkNewPassword(password, user, '/password');
  const password_hash = await hashPassword(password);
  return transact(engine, (trx) => replacePassword(trx, user.pk, { password_hash }));
}

/** Returns false if the account has been deleted concurrently. */
async function replacePassword(
  trx: DatabaseTransaction,
  userPk: number,
  columns: { password_hash: string; is_verified?: 1 },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('users')
    .set(columns)
    .where('pk', '=', userPk)
    .where(isLiveUser('pk'))
    .executeTakeFirst();
  await trx.deleteFrom('sessions').where('user_pk', '=', userPk).execute();
  await revokeLinks(trx, userPk);
  return numUpdatedRows === 1n;
}
