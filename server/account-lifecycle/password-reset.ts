import { selectAccount } from '../accounts/account.ts';
import { parseEmail } from '../accounts/email.ts';
import { checkNewPassword } from '../accounts/password.ts';
import { hashPassword } from '../auth/password-hashing.ts';
import type { Config } from '../config.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { transact } from '../database/transaction.ts';
import { requireLink } from '../mail/links.ts';
import { DEFAULT_LANGUAGE, enqueueMail, requireMail, revokeLinks } from '../mail/outbox.ts';

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
 * Replaces the password of the account that a link was sent to, and verifies its address. Ends all its sessions,
 * revokes the access tokens of its programs, makes all its other links stop working, and sends a notice.
 * @param token    of the link
 * @param language of the notice
 * @returns the user id of the account
 * @throws DomainError `invalid_token`; `password_…`, after which the link still works
 */
export async function resetPassword(
  { engine, config }: ResetResources,
  token: string,
  newPassword: string,
  language: string,
): Promise<string> {
  const account = await requireLink(engine.db, token, ['password-reset']);
  checkNewPassword(newPassword, account, '/newPassword');
  const passwordHash = await hashPassword(newPassword);
  await transact(engine, async (trx) => {
    // Another request may have used the link meanwhile.
    const link = await requireLink(trx, token, ['password-reset']);
    const columns = { password_hash: passwordHash, is_verified: 1 } as const;
    await replacePassword(trx, config, { ...link, language }, columns);
  });
  return account.userId;
}

/**
 * Replaces the password of an account, ends all its sessions, revokes the access tokens of its programs, makes links in
 * mails stop working, and sends a notice. For the operator: does not check the current password.
 * @param account an email address or a user id
 * @returns whether the account exists
 * @throws DomainError `password_…`
 */
export async function setPassword(
  { engine, config }: ResetResources,
  account: string,
  password: string,
): Promise<boolean> {
  const user = await selectAccount(engine.db, account)
    .select(['pk as userPk', 'username', 'email'])
    .executeTakeFirst();
  if (!user) return false;
  checkNewPassword(password, user, '/password');
  const password_hash = await hashPassword(password);
  return transact(engine, (trx) =>
    replacePassword(trx, config, { ...user, language: DEFAULT_LANGUAGE }, { password_hash }),
  );
}

/** Returns false if the account has been deleted concurrently. */
async function replacePassword(
  trx: DatabaseTransaction,
  config: Pick<Config, 'mail'>,
  { userPk, email, language }: { userPk: number; email: string; language: string },
  columns: { password_hash: string; is_verified?: 1 },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('users')
    .set(columns)
    .where('pk', '=', userPk)
    .where(isLiveUser('pk'))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  // Access tokens, too: owners recover stolen accounts this way, and a thief may have created some.
  await trx.deleteFrom('sessions').where('user_pk', '=', userPk).execute();
  await revokeLinks(trx, userPk);
  await enqueueMail(trx, config, { kind: 'password-changed', userPk, address: email, language });
  return true;
}
