import { emailKey } from '../accounts/email.ts';
import type { Engine } from '../database/engine.ts';

/**
 * Marks the account with this email address as verified. For the operator: the service sends no emails.
 * @returns whether the account exists
 */
export async function verifyAccount(engine: Engine, email: string): Promise<boolean> {
  const { numUpdatedRows } = await engine.db
    .updateTable('users')
    .set({ is_verified: 1 })
    .where('email_key', '=', emailKey(email))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
