import { parseBio } from '../accounts/bio.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';

/**
 * Replaces the caller's bio.
 * @throws DomainError `bio_invalid`
 */
export async function changeBio(engine: Engine, caller: Caller, text: string): Promise<void> {
  const bio = parseBio(text);
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await trx
      .updateTable('users')
      .set({ bio, updated_at: new Date().toISOString() })
      .where('pk', '=', caller.userPk)
      .execute();
  });
}
