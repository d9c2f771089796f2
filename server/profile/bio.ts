import type { BioChange } from '../../generated/types.gen.ts';
import { parseBio } from '../accounts/bio.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import { transact } from '../database/transaction.ts';
import type { QuotaResources } from '../resources.ts';

/**
 * Replaces the caller's bio.
 * @throws DomainError `bio_invalid`, `too_many_requests`
 */
export async function changeBio(
  { engine, quotas }: QuotaResources,
  caller: Caller,
  change: BioChange,
): Promise<void> {
  const bio = parseBio(change.bio);
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'changeBio');
    await trx
      .updateTable('users')
      .set({ bio, updated_at: new Date().toISOString() })
      .where('pk', '=', caller.userPk)
      .execute();
  });
}
