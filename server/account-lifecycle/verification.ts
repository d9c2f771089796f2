import { findAccount } from '../accounts/account.ts';
import { emailKey, mailboxKey, parseEmail } from '../accounts/email.ts';
import { readCredentials } from '../auth/current-password.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Config } from '../config.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { invalidToken, type Link, requireLink, storeLink } from '../mail/links.ts';
import { enqueueMail, requireMail } from '../mail/outbox.ts';
import { replaceEmail } from './email-change.ts';

interface MailResources {
  engine: Engine;
  config: Pick<Config, 'mail'>;
}

/** Returns a key of the mailbox that the caller's verification mail is sent to. */
export async function readMailboxKey({ db }: Engine, caller: Caller): Promise<string> {
  return mailboxKey((await readCredentials(db, caller)).email);
}

/**
 * Sends a link to verify the caller's email address, unless it is verified.
 * @param language of the mail
 * @throws DomainError `mail_disabled`
 */
export async function requestEmailVerification(
  { engine, config }: MailResources,
  caller: Caller,
  language: string,
): Promise<void> {
  requireMail(config);
  const { userPk } = caller;
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const { email, is_verified } = await trx
      .selectFrom('users')
      .select(['email', 'is_verified'])
      .where('pk', '=', userPk)
      .executeTakeFirstOrThrow();
    if (is_verified === 1) return;
    const kind = 'email-verification';
    await enqueueMail(trx, config, { kind, userPk, address: email, language });
  });
}

/**
 * Verifies the address that a link was sent to. Before, makes it the address of the account if the link was sent to change
 * it, and sends a notice to the former address. The link works again as long as the account has the address.
 * @param language of the notice
 * @returns the link, of the kind `email-change` if the address has changed
 * @throws DomainError `invalid_token`, `email_taken`
 */
export async function verifyEmail(
  { engine, config }: MailResources,
  token: string,
  language: string,
): Promise<Pick<Link, 'kind' | 'userId' | 'address'>> {
  const kinds = ['email-verification', 'email-change'] as const;
  try {
    return await transact(engine, async (trx) => {
      const link = await requireLink(trx, token, kinds);
      if (link.kind === 'email-verification') await markVerified(trx, link);
      else await completeChange(trx, config, link, token, language);
      return link;
    });
  } catch (error) {
    if (!engine.isUniqueViolation(error)) throw error;
    throw new DomainError(
      'email_taken',
      'Another account has taken this email address meanwhile. Nothing was changed.',
    );
  }
}

async function markVerified(
  trx: DatabaseTransaction,
  { userPk, address, email }: Link,
): Promise<void> {
  // The address has changed since.
  if (emailKey(address) !== emailKey(email)) throw invalidToken();
  await trx.updateTable('users').set({ is_verified: 1 }).where('pk', '=', userPk).execute();
}

async function completeChange(
  trx: DatabaseTransaction,
  config: Pick<Config, 'mail'>,
  { userPk, address }: Link,
  token: string,
  language: string,
): Promise<void> {
  const email = parseEmail(address);
  await replaceEmail(trx, config, { userPk, email, is_verified: 1, language });
  await storeLink(trx, token, { kind: 'email-verification', userPk, address });
}

/** @throws DomainError `email_not_verified` */
export async function requireVerifiedEmail(
  { db }: Engine,
  { userPk }: Pick<Caller, 'userPk'>,
): Promise<void> {
  const user = await db
    .selectFrom('users')
    .select('is_verified')
    .where('pk', '=', userPk)
    .executeTakeFirst();
  if (user?.is_verified === 1) return;
  throw new DomainError(
    'email_not_verified',
    'Verify your email address first. The link is in the mail to it.',
  );
}

/**
 * Marks an account as verified. For the operator.
 * @param account an email address or a user id
 * @returns whether the account exists
 */
export async function verifyAccount(engine: Engine, account: string): Promise<boolean> {
  return transact(engine, async (trx) => {
    const userPk = await findAccount(trx, account);
    if (userPk === undefined) return false;
    await trx.updateTable('users').set({ is_verified: 1 }).where('pk', '=', userPk).execute();
    return true;
  });
}
