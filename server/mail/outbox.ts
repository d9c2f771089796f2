import { randomUUID } from 'node:crypto';
import type { Config } from '../config.ts';
import type { Database, DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import type { LinkKind, Mails, NewRow, NoticeKind } from '../database/schema.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { createLinkToken } from './links.ts';

// Mail is written to the database in the transaction that causes it, and a sender of any process sends it afterwards.

export type MailKind = LinkKind | NoticeKind;

export const LINK_KINDS: readonly LinkKind[] = [
  'email-verification',
  'email-change',
  'password-reset',
];

export const NOTICE_KINDS: readonly NoticeKind[] = [
  'email-change-requested',
  'email-changed',
  'password-changed',
];

/** The language of mail that no request causes, or if the server has no texts in the requested one. */
export const DEFAULT_LANGUAGE = 'en';

/** Mail to send. */
export interface NewMail {
  kind: MailKind;
  /** Null for `password-reset`, so that its cost is the same whether an account has the address. */
  userPk: number | null;
  /** Folded for `password-reset`. */
  address: string;
  language: string;
}

/** Mail that this process sends until its lease ends. */
export interface ClaimedMail {
  pk: number;
  mailId: string;
  kind: MailKind;
  address: string;
  language: string;
  /** Null for a notice. The database contains only its hash. */
  token: string | null;
  /** Including this one. */
  attempts: number;
  createdAt: string;
}

/** Mail that is still not sent after this time is deleted. */
const MAX_AGE_MS = 48 * 3_600_000;
const FIRST_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 4 * 3_600_000;

/** @throws DomainError `mail_disabled` */
export function requireMail({ mail }: Pick<Config, 'mail'>): void {
  if (mail === null) {
    throw new DomainError('mail_disabled', 'This server sends no mail. Ask its operator.');
  }
}

/**
 * Adds mail to the outbox, unless the server sends none. A link replaces an earlier one of its kind that has not been
 * sent yet, and a notice one to the same address.
 */
export async function enqueueMail(
  trx: DatabaseTransaction,
  { mail: settings }: Pick<Config, 'mail'>,
  { kind, userPk, address, language }: NewMail,
): Promise<void> {
  if (settings === null) return;
  const now = new Date().toISOString();
  let waiting = trx.deleteFrom('mails').where('kind', '=', kind);
  if (userPk !== null) waiting = waiting.where('user_pk', '=', userPk);
  if (userPk === null || !isLink(kind)) waiting = waiting.where('address', '=', address);
  await waiting.execute();
  await trx
    .insertInto('mails')
    .values({
      mail_id: randomUUID(),
      kind,
      user_pk: userPk,
      address,
      language,
      send_after: now,
      created_at: now,
    } satisfies NewRow<'mails'>)
    .execute();
}

export function isLink(kind: MailKind): kind is LinkKind {
  return LINK_KINDS.some((each) => each === kind);
}

/**
 * Returns mail to send now; undefined if there is none. Creates the token of its link. No other process sends the mail
 * before the lease ends. Deletes mail without a recipient, such as a password reset for an unknown address.
 */
export async function claimMail(engine: Engine, leaseMs: number): Promise<ClaimedMail | undefined> {
  for (;;) {
    const now = Date.now();
    const due = await engine.db
      .selectFrom('mails')
      .select('pk')
      .where('send_after', '<=', new Date(now).toISOString())
      .orderBy('send_after')
      .limit(1)
      .executeTakeFirst();
    if (!due) return undefined;
    const claimed = await transact(engine, (trx) => claim(trx, due.pk, now, leaseMs));
    if (claimed) return claimed;
  }
}

async function claim(
  trx: DatabaseTransaction,
  pk: number,
  now: number,
  leaseMs: number,
): Promise<ClaimedMail | undefined> {
  const mail = await trx
    .updateTable('mails')
    .set((column) => ({
      attempts: column('attempts', '+', 1),
      send_after: new Date(now + leaseMs).toISOString(),
    }))
    .where('pk', '=', pk)
    // Another process may have claimed it meanwhile.
    .where('send_after', '<=', new Date(now).toISOString())
    .returning(['mail_id', 'kind', 'user_pk', 'address', 'language', 'attempts', 'created_at'])
    .executeTakeFirst();
  if (!mail) return undefined;
  const { kind, language, attempts } = mail;
  const isExpired = mail.created_at < expiredBefore(now);
  const recipient = isExpired ? undefined : await findRecipient(trx, mail);
  if (!recipient) {
    await deleteMail(trx, pk);
    return undefined;
  }
  const { userPk, address } = recipient;
  const token = isLink(kind) ? await createLinkToken(trx, { kind, userPk, address }) : null;
  const { mail_id: mailId, created_at: createdAt } = mail;
  return { pk, mailId, kind, address, language, token, attempts, createdAt };
}

/**
 * Returns undefined if the account does not exist, is suspended or no longer needs the mail. An unverified address gets no
 * notices, because a stranger can register it and cause many.
 */
async function findRecipient(
  trx: DatabaseTransaction,
  { kind, user_pk, address }: Pick<Mails, 'kind' | 'user_pk' | 'address'>,
): Promise<{ userPk: number; address: string } | undefined> {
  const users = trx
    .selectFrom('users')
    .select(['pk', 'email', 'is_verified'])
    .where(isLiveUser('pk'))
    .where('suspended_at', 'is', null);
  const user = await (user_pk === null
    ? users.where('email_key', '=', address)
    : users.where('pk', '=', user_pk)
  ).executeTakeFirst();
  if (!user) return undefined;
  const { pk: userPk, email, is_verified } = user;
  if (kind === 'email-verification' && (is_verified === 1 || email !== address)) return undefined;
  // `email-changed` is for the former address, see `replaceEmail`.
  if (kind !== 'email-changed' && !isLink(kind) && is_verified === 0) return undefined;
  return { userPk, address: user_pk === null ? email : address };
}

/** Deletes mail that is too old to be sent, for example because the server no longer sends any. */
export async function deleteExpiredMails({ db }: Pick<Engine, 'db'>): Promise<void> {
  await db.deleteFrom('mails').where('created_at', '<', expiredBefore(Date.now())).execute();
}

function expiredBefore(now: number): string {
  return new Date(now - MAX_AGE_MS).toISOString();
}

export async function deleteMail(db: Database, pk: number): Promise<void> {
  await db.deleteFrom('mails').where('pk', '=', pk).execute();
}

/**
 * Ends the lease after a failed attempt, and schedules the next one. Pauses grow to four hours.
 * @returns false if the mail is too old and has been deleted
 */
export async function postponeMail(
  { db }: Engine,
  { pk, attempts, createdAt }: ClaimedMail,
): Promise<boolean> {
  const now = Date.now();
  const sendAfter = now + Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1));
  if (sendAfter > Date.parse(createdAt) + MAX_AGE_MS) {
    await deleteMail(db, pk);
    return false;
  }
  await db
    .updateTable('mails')
    .set({ send_after: new Date(sendAfter).toISOString() })
    .where('pk', '=', pk)
    .execute();
  return true;
}

/** Makes links to an account stop working, also those that have not been sent yet. */
export async function revokeLinks(
  trx: DatabaseTransaction,
  userPk: number,
  kinds: readonly LinkKind[] = LINK_KINDS,
): Promise<void> {
  await trx
    .deleteFrom('mail_tokens')
    .where('user_pk', '=', userPk)
    .where('kind', 'in', kinds)
    .execute();
  await trx.deleteFrom('mails').where('user_pk', '=', userPk).where('kind', 'in', kinds).execute();
  if (!kinds.includes('password-reset')) return;
  await trx
    .deleteFrom('mails')
    .where('kind', '=', 'password-reset')
    .where('address', '=', (from) =>
      from.selectFrom('users').select('email_key').where('pk', '=', userPk),
    )
    .execute();
}

/** Deletes all mail to an account that waits, and the tokens of its links. */
export async function deleteMails(trx: DatabaseTransaction, userPk: number): Promise<void> {
  await revokeLinks(trx, userPk);
  await trx.deleteFrom('mails').where('user_pk', '=', userPk).execute();
}

/** The mail that waits. */
export interface OutboxState {
  waiting: number;
  /** Age of the oldest mail, 0 if there is none. */
  oldestSeconds: number;
}

export async function measureOutbox({ db }: Pick<Engine, 'db'>): Promise<OutboxState> {
  const { waiting, oldest } = await db
    .selectFrom('mails')
    .select(({ fn }) => [
      fn.countAll<number>().as('waiting'),
      fn.min<string | null>('created_at').as('oldest'),
    ])
    .executeTakeFirstOrThrow();
  const oldestSeconds = oldest === null ? 0 : (Date.now() - Date.parse(oldest)) / 1000;
  return { waiting, oldestSeconds: Math.max(0, oldestSeconds) };
}
