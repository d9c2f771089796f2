import { type RawBuilder, sql } from 'kysely';

// Deleting a large space or account takes several transactions. The first one removes it from every response: it adds
// the space or user to a queue, and gives it ids that no request can contain. Later ones delete the rows. Meanwhile,
// queries that do not find rows by those ids need these conditions.

/** SQL condition: the space with this key has not been deleted. */
export function isLiveSpace(spacePk: string): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(spacePk)} NOT IN (SELECT space_pk FROM erased_spaces)`;
}

/** SQL condition: the account of the user with this key has not been deleted. */
export function isLiveUser(userPk: string): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(userPk)} NOT IN (SELECT user_pk FROM erased_users)`;
}

/** SQL condition on `messages`: neither the space of the message nor the account of its author has been deleted. */
export const isLiveMessage = sql<boolean>`(${isLiveSpace('messages.space_pk')} AND ${isLiveUser('messages.author_pk')})`;

/**
 * SQL condition on `reports`, left-joined with `messages`: the reported message has not been deleted. Reports of spaces
 * and users need no condition, because the first transaction of a deletion deletes them.
 */
export const isLiveReport = sql<boolean>`(reports.message_pk IS NULL OR ${isLiveMessage})`;

/** SQL for an id of a deleted row. Ids of the API cannot contain a colon. */
export const erasedId = sql<string>`'erased:' || pk`;
