import { sql } from 'kysely';
import { type Caller, findSessions, sessionEnded } from '../auth/sessions.ts';
import type { Database } from '../database/engine.ts';
import { lastEventTime } from '../database/last-event.ts';
import { columnOf, prepareForSet } from '../database/prepared.ts';
import type { DomainError } from '../errors.ts';
import { callerPk, isVisible, isVisibleTo } from '../spaces/rights.ts';
import { spaceNotFound } from '../spaces/space-access.ts';

/** A caller who reads a space. */
export interface Reader {
  caller: Caller | null;
  spaceId: string;
}

/** A space, and the time of the last event in it. See `message-order.ts`. */
interface FollowedSpace {
  spaceId: string;
  pk: number;
  /** Whether everyone may see it. */
  isPublic: boolean | number;
  lastEventTime: string | null;
}

const findSpaces = prepareForSet({ space_id: 'text' }, (db, rows) =>
  db
    .selectFrom('spaces')
    .select(['space_id as spaceId', 'pk'])
    .select(isVisibleTo(null, sql.ref('spaces.pk')).as('isPublic'))
    .select(lastEventTime(sql.ref('spaces.pk')).as('lastEventTime'))
    .where('space_id', 'in', columnOf(rows, 'space_id'))
    .$castTo<FollowedSpace>(),
);

/** Returns those of the pairs of users and spaces in which the user may see the space. */
const findVisible = prepareForSet({ space_pk: 'bigint', user_pk: 'bigint' }, (_, rows) => {
  const pairs = rows.map(({ space_pk, user_pk }) => sql`(${space_pk}, ${user_pk})`);
  return sql<{ space_pk: number; user_pk: number }>`
    WITH pairs (space_pk, user_pk) AS (VALUES ${sql.join(pairs)})
    SELECT space_pk, user_pk FROM pairs
    WHERE ${isVisible(sql.ref('pairs.user_pk'), sql.ref('pairs.space_pk'))}`;
});

/**
 * Checks many readers with few queries: whether their sessions exist, and whether they may see their spaces.
 * @returns the error of each reader without access, and the spaces, by their ids
 */
export async function checkReaders<R extends Reader>(
  db: Database,
  readers: readonly R[],
): Promise<{ errors: Map<R, DomainError>; spaces: Map<string, FollowedSpace> }> {
  const spaceIds = new Set(readers.map(({ spaceId }) => spaceId));
  const found = await findSpaces(db, fieldsOf('space_id', spaceIds));
  const spaces = new Map(found.map((space) => [space.spaceId, space]));

  const callers = readers.flatMap(({ caller }) => caller ?? []);
  const sessionPks = new Set(callers.map(({ sessionPk }) => sessionPk));
  const sessions = new Set(await findSessions(db, sessionPks));

  const pairOf = ({ caller, spaceId }: Reader) => ({
    space_pk: spaces.get(spaceId)?.pk ?? 0,
    user_pk: callerPk(caller),
  });
  const others = readers.filter(({ spaceId }) => !spaces.get(spaceId)?.isPublic);
  const visible = new Set((await findVisible(db, others.map(pairOf))).map(keyOf));
  const hidden = new Set(others.filter((reader) => !visible.has(keyOf(pairOf(reader)))));

  const errors = new Map<R, DomainError>();
  for (const reader of readers) {
    const { caller } = reader;
    if (caller && !sessions.has(caller.sessionPk)) errors.set(reader, sessionEnded());
    else if (hidden.has(reader)) errors.set(reader, spaceNotFound());
  }
  return { errors, spaces };
}

function fieldsOf<Name extends string, Value>(
  name: Name,
  values: Iterable<Value>,
): Record<Name, Value>[] {
  return Array.from(values, (value) => ({ [name]: value }) as Record<Name, Value>);
}

function keyOf({ space_pk, user_pk }: { space_pk: number; user_pk: number }): string {
  return `${space_pk} ${user_pk}`;
}
