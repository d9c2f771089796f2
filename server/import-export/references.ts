import { columnOf, prepareForSet } from '../database/prepared.ts';
import { BadLineError, contentsOf, type ImportRun, type Line } from './run.ts';

// Finds the rows that the records of a batch refer to by their public ids.

const selectUsers = prepareForSet({ user_id: 'text' }, (db, rows) =>
  db
    .selectFrom('users')
    .select(['user_id', 'pk'])
    .where('user_id', 'in', columnOf(rows, 'user_id')),
);

/**
 * Returns the `pk` of each known user that the records refer to, by `user_id`.
 * @param field the field of the records that contains the `user_id`
 */
export async function findUsers<Field extends string>(
  { trx, existing }: ImportRun,
  records: readonly Line<Record<Field, string>>[],
  field: Field,
): Promise<Map<string, number>> {
  const wanted = records.map(({ content }) => ({ user_id: content[field] }));
  const rows = await selectUsers(trx, wanted);
  const allowed = rows.filter(({ pk }) => pk > existing.users);
  return new Map(allowed.map(({ user_id, pk }) => [user_id, pk]));
}

const selectSpaces = prepareForSet({ space_id: 'text' }, (db, rows) =>
  db
    .selectFrom('spaces')
    .select(['space_id', 'pk', 'creator_pk'])
    .where('space_id', 'in', columnOf(rows, 'space_id')),
);

/** Returns each known space that the records refer to, by `space_id`. */
export async function findSpaces(
  { trx, existing }: ImportRun,
  records: readonly Line<{ space_id: string }>[],
): Promise<Map<string, { pk: number; creator_pk: number }>> {
  const rows = await selectSpaces(trx, contentsOf(records));
  const allowed = rows.filter(({ pk }) => pk > existing.spaces);
  return new Map(allowed.map((row) => [row.space_id, row]));
}

const selectMessages = prepareForSet({ message_id: 'text' }, (db, rows) =>
  db
    .selectFrom('messages')
    .select(['message_id', 'pk', 'space_pk', 'author_pk'])
    .where('message_id', 'in', columnOf(rows, 'message_id')),
);

/** Returns those of the messages that are known, by `message_id`; null for those that records cannot refer to. */
export async function findMessages(
  { trx, existing }: ImportRun,
  messageIds: readonly string[],
): Promise<Map<string, { pk: number; space_pk: number; author_pk: number } | null>> {
  const wanted = messageIds.map((message_id) => ({ message_id }));
  const rows = await selectMessages(trx, wanted);
  return new Map(rows.map((row) => [row.message_id, row.pk > existing.messages ? row : null]));
}

/** What the fields of records refer to. */
const TYPES = {
  creator_id: 'user',
  author_id: 'user',
  user_id: 'user',
  mentions: 'user',
  blocked_id: 'user',
  removed_by: 'user',
  space_id: 'space',
  message_id: 'message',
  reply_to: 'message',
} as const;

/** @throws BadLineError if no row has the id, a DependentLineError if the record with the id was in a bad line */
export function requireKnown<Row>(
  { rejected }: Pick<ImportRun, 'rejected'>,
  rows: ReadonlyMap<string, Row | null>,
  id: string,
  field: keyof typeof TYPES,
): Row {
  const row = rows.get(id) ?? null;
  if (row !== null) return row;
  rejected.throwIfCauseOf(`${TYPES[field]} ${id}`);
  throw new BadLineError(`${field} ${id} is not known`);
}
