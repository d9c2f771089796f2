import { findAccount } from '../accounts/account.ts';
import { assertEmailAvailable, type Email, emailKey, parseEmail } from '../accounts/email.ts';
import {
  currentPasswordIncorrect,
  readCredentials,
  verifyCurrentPassword,
} from '../auth/current-password.ts';
import { HashReplacedError, retryReplacedHash } from '../auth/replaced-hashes.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Config } from '../config.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { DEFAULT_LANGUAGE, enqueueMail, requireMail, revokeLinks } from '../mail/outbox.ts';

interface MailResources {
  engine: Engine;
  config: Pick<Config, 'mail'>;
}

/**
 * Sends a link to a new address of the caller's account, and a notice to the present one. The link changes the address,
 * see `verifyEmail`.
 * @param language of the mails
 * @throws DomainError `mail_disabled`, `email_invalid`, `email_taken`, `current_password_incorrect`
 */
export async function changeEmail(
  resources: MailResources,
  caller: Caller,
  newEmail: string,
  currentPassword: string,
  language: string,
): Promise<void> {
  requireMail(resources.config);
  const email = parseEmail(newEmail);
  await retryReplacedHash(
    () => attemptChange(resources, caller, email, currentPassword, language),
    currentPasswordIncorrect,
  );
}

async function attemptChange(
  { engine, config }: MailResources,
  caller: Caller,
  { email, key }: Email,
  currentPassword: string,
  language: string,
): Promise<void> {
  const { userPk } = caller;
  const account = await readCredentials(engine.db, caller);
  await verifyCurrentPassword(account.password_hash, currentPassword);
  await assertEmailAvailable(engine.db, key, userPk);
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const current = await readCredentials(trx, caller);
    if (current.password_hash !== account.password_hash) throw new HashReplacedError();
    await revokeLinks(trx, userPk, ['email-change']);
    const mail = { userPk, language };
    await enqueueMail(trx, config, { ...mail, kind: 'email-change', address: email });
    // Otherwise, the same person would get both.
    if (emailKey(current.email) === key) return;
    await enqueueMail(trx, config, {
      ...mail,
      kind: 'email-change-requested',
      address: current.email,
    });
  });
}

/**
 * Replaces the email address of an account, which is then no longer verified, and sends a notice to the former one. For
 * the operator: does not check who owns the new address.
 * @param account an email address or a user id
 * @returns whether the account exists
 * @throws DomainError `email_invalid`, `email_taken`
 */
export async function setEmail(
  { engine, config }: MailResources,
  account: string,
  newEmail: string,
): Promise<boolean> {
  const email = parseEmail(newEmail);
  try {
    return await transact(engine, async (trx) => {
      const userPk = await findAccount(trx, account);
      if (userPk === undefined) return false;
      await replaceEmail(trx, config, {
        userPk,
        email,
        is_verified: 0,
        language: DEFAULT_LANGUAGE,
      });
      return true;
    });
  } catch (error) {
    if (!engine.isUniqueViolation(error)) throw error;
    throw new DomainError('email_taken', `Another account has the email address ${newEmail}.`);
  }
}

/**
 * Replaces an address, and makes links stop working: their recipient may no longer own the account. Sends a notice to the
 * former address if it was verified. Otherwise, a stranger may have registered it to send someone mail.
 */
export async function replaceEmail(
  trx: DatabaseTransaction,
  config: Pick<Config, 'mail'>,
  {
    userPk,
    email: { email, key },
    is_verified,
    language,
  }: { userPk: number; email: Email; is_verified: 0 | 1; language: string },
): Promise<void> {
  const former = await trx
    .selectFrom('users')
    .select(['email', 'email_key', 'is_verified'])
    .where('pk', '=', userPk)
    .executeTakeFirstOrThrow();
  await revokeLinks(trx, userPk);
  await trx
    .updateTable('users')
    .set({ email, email_key: key, is_verified })
    .where('pk', '=', userPk)
    .execute();
  if (former.email_key === key || former.is_verified === 0) return;
  const kind = 'email-changed';
  await enqueueMail(trx, config, { kind, userPk, address: former.email, language });
}
