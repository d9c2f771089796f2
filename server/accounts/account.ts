import type { Database } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { emailKey } from './email.ts';

/**
 * Returns the internal key of an account; undefined if there is none. For operator commands.
 * @param account an email address or a user id, which contains no `@`
 */
export async function findAccount(db: Database, account: string): Promise<number | undefined> {
  return (await selectAccount(db, account).select('pk').executeTakeFirst())?.pk;
}

/** Returns the user id of an account; undefined if there is none. For operator commands, like `findAccount`. */
export async function findUserId(db: Database, account: string): Promise<string | undefined> {
  return (await selectAccount(db, account).select('user_id').executeTakeFirst())?.user_id;
}

/** Returns a query for the row of an account. For operator commands, like `findAccount`. */
export function selectAccount(db: Database, account: string) {
  const users = db.selectFrom('users').where(isLiveUser('pk'));
  return account.includes('@')
    ? users.where('email_key', '=', emailKey(account))
    : users.where('user_id', '=', account);
}
