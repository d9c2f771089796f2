import { type Caller, findSessions, sessionEnded } from '../auth/sessions.ts';
import type { Database } from '../database/engine.ts';
import type { DomainError } from '../errors.ts';
import {
  findParticipants,
  findVisibleSpaces,
  spaceNotFound,
  type VisibleSpace,
} from '../spaces/space-access.ts';

/** A caller who reads a space. */
export interface Reader {
  caller: Caller | null;
  spaceId: string;
}

/**
 * Checks many readers with few queries: whether their sessions exist, and whether they may see their spaces. The rules
 * are those of `requireSession` and `findSpace`.
 * @returns the error of each reader without access, and the spaces that are not hidden, by their ids
 */
export async function checkReaders<R extends Reader>(
  db: Database,
  readers: readonly R[],
): Promise<{ errors: Map<R, DomainError>; spaces: Map<string, VisibleSpace> }> {
  const spaceIds = new Set(readers.map(({ spaceId }) => spaceId));
  const found = await findVisibleSpaces(db, fieldsOf('space_id', spaceIds));
  const spaces = new Map(found.map((space) => [space.spaceId, space]));

  const callers = readers.flatMap(({ caller }) => caller ?? []);
  const sessionPks = new Set(callers.map(({ sessionPk }) => sessionPk));
  const rows = await findSessions(db, fieldsOf('pk', sessionPks));
  const sessions = new Set(rows.map(({ pk }) => pk));

  const pairOf = ({ caller, spaceId }: Reader) => ({
    space_pk: spaces.get(spaceId)?.pk ?? 0,
    user_pk: caller?.userPk ?? 0,
  });
  const isPrivate = ({ spaceId }: Reader) => spaces.get(spaceId)?.visibility === 'private';
  const participants = await findParticipants(db, readers.filter(isPrivate).map(pairOf));
  const participations = new Set(participants.map(keyOf));

  const errors = new Map<R, DomainError>();
  for (const reader of readers) {
    const { caller, spaceId } = reader;
    if (caller && !sessions.has(caller.sessionPk)) errors.set(reader, sessionEnded());
    else if (
      !spaces.has(spaceId) ||
      (isPrivate(reader) && !participations.has(keyOf(pairOf(reader))))
    ) {
      errors.set(reader, spaceNotFound());
    }
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
