import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Database, Engine, TaskTarget } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { unindexSpace } from '../search/documents.ts';
import { findOwnSpace } from './spaces.ts';
import { deleteUnusedTags, setTags } from './tags.ts';

/**
 * Deletes a space of the caller's. A large one takes a while, so it does not happen on this thread.
 * @throws DomainError `space_not_found`, `not_space_creator`
 */
export async function deleteSpace(engine: Engine, caller: Caller, spaceId: string): Promise<void> {
  const { id } = await findOwnSpace(engine.db, caller, spaceId);
  await engine.runTask('eraseSpace', { id, session: caller.session });
}

/**
 * Deletes a space with its messages, their appreciations, its memberships and tags, in one transaction.
 * @throws DomainError `unauthenticated`, if the session has ended meanwhile
 */
export async function eraseSpace(engine: Engine, { id, session }: TaskTarget): Promise<void> {
  await transact(engine.db, async (trx) => {
    await requireSession(trx, { session });
    await eraseSpaceRows(engine, trx, id);
  });
}

/** The rows of a space, children first: deleting a row whose children are gone has nothing to look for. */
export async function eraseSpaceRows(engine: Engine, trx: Database, space: number): Promise<void> {
  await unindexSpace(engine, trx, space);
  await trx
    .deleteFrom('appreciations')
    .where('message', 'in', (eb) =>
      eb.selectFrom('messages').select('id').where('space', '=', space),
    )
    .execute();
  await trx.deleteFrom('messages').where('space', '=', space).execute();
  await trx.deleteFrom('participations').where('space', '=', space).execute();
  await deleteUnusedTags(trx, await setTags(engine, trx, space, []));
  await trx.deleteFrom('spaces').where('id', '=', space).execute();
}
