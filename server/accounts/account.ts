import type { Database } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { emailKey } from './email.ts';

/**
 * Returns the internal key of an account; undefined if there is none. For operator commands.
 * @param account an email address or a user id, which contains no `@`
 */
export async function findAccount(db: Database, account: string): Promise<number | undefined> {
  const users = db.selectFrom('users').select('pk').where(isLiveUser('pk'));
  const row = await (account.includes('@')
    ? users.where('email_key', '=', emailKey(account))
    : users.where('user_id', '=', account)
  ).executeTakeFirst();
  return row?.pk;
}
