import { findAccount } from '../accounts/account.ts';
import { parseEmail } from '../accounts/email.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';

/**
 * Replaces the email address of an account, which is then no longer verified. For the operator: does not check who owns
 * the new address.
 * @param account an email address or a user id
 * @returns whether the account exists
 * @throws DomainError `email_invalid`, `email_taken`
 */
export async function setEmail(
  engine: Engine,
  account: string,
  newEmail: string,
): Promise<boolean> {
  const { email, key } = parseEmail(newEmail);
  try {
    return await transact(engine, async (trx) => {
      const userPk = await findAccount(trx, account);
      if (userPk === undefined) return false;
      await trx
        .updateTable('users')
        .set({ email, email_key: key, is_verified: 0 })
        .where('pk', '=', userPk)
        .execute();
      return true;
    });
  } catch (error) {
    if (!engine.isUniqueViolation(error)) throw error;
    throw new DomainError('email_taken', `Another account has the email address ${email}.`);
  }
}
