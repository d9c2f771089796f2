import type { ParticipationSummary } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Database, Engine } from '../database/engine.ts';
import { columnOf, prepareForSet } from '../database/prepared.ts';
import type { ResultPlace } from '../search/results.ts';
import { participantRole, type Role } from './rights.ts';

/**
 * Adds the caller's participation in each space to search results, which are the same for all callers.
 * @param results JSON array of SearchResult
 * @returns JSON array of ListedSpace
 */
export async function addParticipations(
  { db }: Engine,
  caller: Caller | null,
  { body: results, places }: { body: Buffer; places: readonly ResultPlace[] },
): Promise<Buffer> {
  const participations = await readParticipations(
    db,
    caller,
    places.map(({ spaceId }) => spaceId),
  );
  let start = 0;
  const parts = places.flatMap(({ spaceId, end }) => {
    const part = results.subarray(start, end);
    start = end;
    const participation = JSON.stringify(participations.get(spaceId) ?? null);
    return [part, Buffer.from(`,"participation":${participation}`)];
  });
  return Buffer.concat([...parts, results.subarray(start)]);
}

/** Returns the caller's participations in spaces, by the ids of the spaces. */
export async function readParticipations(
  db: Database,
  caller: Caller | null,
  spaceIds: readonly string[],
): Promise<Map<string, NonNullable<ParticipationSummary>>> {
  if (!caller) return new Map();
  const rows = await selectParticipations(
    db,
    spaceIds.map((spaceId) => ({ spaceId, userPk: caller.userPk })),
  );
  return new Map(rows.map(({ space_id, ...participation }) => [space_id, participation]));
}

const selectParticipations = prepareForSet({ spaceId: 'text', userPk: 'bigint' }, (db, rows) => {
  // The same one in each row.
  const { userPk } = rows[0] as (typeof rows)[number];
  return db
    .selectFrom('spaces')
    .innerJoin('participations', 'participations.space_pk', 'spaces.pk')
    .select(['space_id', 'joined_at'])
    .select(participantRole.as('role'))
    .where('space_id', 'in', columnOf(rows, 'spaceId'))
    .where('user_pk', '=', userPk)
    .where('left_at', 'is', null)
    .$narrowType<{ role: Role }>();
});
