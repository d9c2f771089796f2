import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Database, Engine, TaskTarget } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { unindexSpace } from '../search/documents.ts';
import { findOwnSpace } from './spaces.ts';
import { deleteUnusedTags, setTags } from './tags.ts';

/**
 * Deletes a space that the caller created. Uses another thread, because deleting a large space takes long.
 * @throws DomainError `space_not_found`, `not_space_creator`
 */
export async function deleteSpace(engine: Engine, caller: Caller, spaceId: string): Promise<void> {
  const { pk } = await findOwnSpace(engine.db, caller, spaceId);
  await engine.runTask('eraseSpace', { pk, sessionPk: caller.sessionPk });
}

/**
 * The task of `deleteSpace`. Deletes a space with its messages, appreciations, participations and tags, in one transaction.
 * @throws DomainError `unauthenticated` if the session has ended
 */
export async function eraseSpace(engine: Engine, { pk, sessionPk }: TaskTarget): Promise<void> {
  await transact(engine.db, async (trx) => {
    await requireSession(trx, { sessionPk });
    await eraseSpaceRows(engine, trx, pk);
  });
}

/**
 * Deletes any space like `deleteSpace`. For the operator.
 * @returns whether the space exists
 */
export async function removeSpace(engine: Engine, spaceId: string): Promise<boolean> {
  return transact(engine.db, async (trx) => {
    const space = await trx
      .selectFrom('spaces')
      .select('pk')
      .where('space_id', '=', spaceId)
      .executeTakeFirst();
    if (!space) return false;
    await eraseSpaceRows(engine, trx, space.pk);
    return true;
  });
}

/** Deletes the rows of a space. Deletes child rows first, so that no foreign key cascades. */
export async function eraseSpaceRows(
  engine: Engine,
  trx: Database,
  spacePk: number,
): Promise<void> {
  await unindexSpace(engine, trx, spacePk);
  await trx.deleteFrom('reports').where('space_pk', '=', spacePk).execute();
  await trx
    .deleteFrom('reports')
    .where('message_pk', 'in', (eb) =>
      eb.selectFrom('messages').select('pk').where('space_pk', '=', spacePk),
    )
    .execute();
  await trx
    .deleteFrom('appreciations')
    .where('message_pk', 'in', (eb) =>
      eb.selectFrom('messages').select('pk').where('space_pk', '=', spacePk),
    )
    .execute();
  await trx.deleteFrom('messages').where('space_pk', '=', spacePk).execute();
  await trx.deleteFrom('participations').where('space_pk', '=', spacePk).execute();
  const formerTags = await setTags(engine, trx, spacePk, []);
  await deleteUnusedTags(trx, formerTags);
  await trx.deleteFrom('spaces').where('pk', '=', spacePk).execute();
}
