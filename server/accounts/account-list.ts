import { sql } from 'kysely';
import type { Database, Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import type { Page, PageRequest } from '../pagination.ts';
import { usernameKey } from '../text/username-keys.ts';
import { selectAccount } from './account.ts';

/** An account as the operator sees it. */
export interface Account {
  user_id: string;
  username: string;
  email: string;
  is_verified: boolean;
  created_at: string;
  suspended_at: string | null;
}

export interface AccountFilter {
  /** The beginning of the username, in any capitalization. */
  username?: string;
  isSuspended?: boolean;
  isUnverified?: boolean;
}

/** The last code point, so that no username with the same beginning sorts after it. */
const LAST_CHARACTER = '\u{10ffff}';

/** Returns a page of accounts, the newest first. For the operator. */
export async function listAccounts(
  { db }: Engine,
  { username = '', isSuspended, isUnverified }: AccountFilter,
  request: PageRequest,
): Promise<Page<Account>> {
  let query = selectAccounts(db);
  if (username !== '') {
    const beginning = usernameKey(username);
    query = query
      .where('username_key', '>=', beginning)
      .where('username_key', '<', beginning + LAST_CHARACTER);
  }
  if (isSuspended) query = query.where('suspended_at', 'is not', null);
  if (isUnverified) query = query.where('is_verified', '=', 0);
  const { items, next } = await readPage(query, ['pk'], 'desc', request);
  return { items: items.map((row) => describe(row).account), next };
}

/**
 * Returns an account with its internal key; undefined if there is none. For the operator.
 * @param account an email address, a user id or a username
 */
export async function readAccount(
  { db }: Engine,
  account: string,
): Promise<{ userPk: number; account: Account } | undefined> {
  const row =
    (await selectAccount(db, account).select(COLUMNS).executeTakeFirst()) ??
    (await selectAccounts(db).where('username_key', '=', usernameKey(account)).executeTakeFirst());
  return row && describe(row);
}

const COLUMNS = [
  'pk',
  'user_id',
  'username',
  'email',
  'is_verified',
  'created_at',
  'suspended_at',
] as const;

function selectAccounts(db: Database) {
  return db.selectFrom('users').select(COLUMNS).where(isLiveUser('pk'));
}

function describe({
  pk: userPk,
  is_verified,
  ...row
}: Omit<Account, 'is_verified'> & { pk: number; is_verified: number }) {
  return { userPk, account: { ...row, is_verified: is_verified === 1 } };
}

/** Counts deleted accounts separately, because a condition on each row would take 500 times as long. */
export async function countAccounts({ db }: Pick<Engine, 'db'>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT (SELECT count(*) FROM users) - (SELECT count(*) FROM erased_users) AS count`.execute(db);
  return Number(rows[0]?.count);
}
