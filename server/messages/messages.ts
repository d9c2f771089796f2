import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type {
  Message,
  MessageCreation,
  MessagePreview,
  UserSummary,
} from '../../generated/types.gen.ts';
import { claimKey, type KeyClaim } from '../accounts/idempotency-keys.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession, requireUser } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import { hasBlocked } from '../database/blocks.ts';
import type { Database, DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveMessage, isLiveUser } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import { lastEventTime } from '../database/last-event.ts';
import { type ParameterType, prepare } from '../database/prepared.ts';
import type { NewRow } from '../database/schema.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { updateWords } from '../message-words/update.ts';
import type { Page, PageRequest, Position } from '../pagination.ts';
import type { AvatarResources, QuotaResources, ResourceState } from '../resources.ts';
import {
  callerPk,
  isFoundBy,
  isVisibleTo,
  participantRole,
  type Role,
  requireDeletable,
  requireRight,
  requireWritable,
} from '../spaces/rights.ts';
import { findSpace } from '../spaces/space-access.ts';
import { spaceSubject } from '../spaces/subjects.ts';
import { countWords } from '../text/word-count.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { addMentions, findMentioned, readMentions } from './mentions.ts';
import {
  type EventPosition,
  formatTime,
  positionAfter,
  positionOfTime,
  recordDeletions,
} from './message-order.ts';
import { assertMessageText } from './message-text.ts';
import { findOriginal, originalNotFound, readOriginals } from './replies.ts';

/**
 * Returns a page of the messages of a space, newest first. The space must be public, or the caller a participant.
 * @param around the id of a message, or a time, that the first page surrounds. By default, it has the newest messages.
 * @returns the page, and in `newer` where `readEvents` continues
 * @throws DomainError `space_not_found`, `message_not_found`
 */
export async function listMessages(
  { engine, avatars }: AvatarResources,
  caller: Caller | null,
  spaceId: string,
  request: PageRequest,
  around?: string,
): Promise<Page<Message> & { newer: EventPosition }> {
  const space = await findSpace(engine.db, caller, spaceId);
  const middle =
    around === undefined || request.position
      ? undefined
      : await findPosition(engine.db, space.pk, around);
  const query = selectMessages(engine.db, caller)
    // In the same statement, because no event of the space may happen in between.
    .select(lastEventTime(space.pk).as('last_event'))
    .where('messages.space_pk', '=', space.pk)
    .where(isVisibleTo(caller, space.pk));
  const columns = ['messages.created_at', 'messages.message_id'] as const;
  const readPageAround = async (position: Position, limit: number) => {
    const later = await readPage(query, columns, 'asc', { limit: Math.floor(limit / 2), position });
    const others = query.where(
      sql<boolean>`(messages.created_at, messages.message_id) <= (${sql.join(position)})`,
    );
    // The page has fewer later messages if there are not enough, and then more earlier ones.
    const rest = { limit: limit - later.items.length };
    const { items, next } = await readPage(others, columns, 'desc', rest);
    return { items: [...later.items.reverse(), ...items], next };
  };
  const page = middle
    ? await readPageAround(middle, request.limit)
    : await readPage(query, columns, 'desc', request);
  const [newest] = page.items;
  // Filtered after the query, so that one page never reads past many messages that are being erased.
  const items = page.items.filter(({ is_live }) => is_live);
  return {
    next: page.next,
    newer: positionAfter(newest, middle ?? request.position),
    items: await describeMessages(engine.db, avatars, items),
  };
}

/**
 * Returns the position of a message in its space, or of a time.
 * @throws DomainError `message_not_found`, `invalid_request` for a time such as 25:00
 */
async function findPosition(db: Database, spacePk: number, around: string): Promise<Position> {
  if (around.includes(':')) return positionOfTime(around);
  const message = await db
    .selectFrom('messages')
    .select(['created_at', 'message_id'])
    .where('message_id', '=', around)
    .where('space_pk', '=', spacePk)
    .where(isLiveMessage)
    .executeTakeFirst();
  if (!message) throw messageNotFound();
  return [message.created_at, message.message_id];
}

/**
 * Returns a message in a space that is public, or in which the caller participates.
 * @throws DomainError `message_not_found`
 */
export async function getMessage(
  { engine, avatars }: AvatarResources,
  caller: Caller | null,
  messageId: string,
): Promise<Message> {
  const row = await selectMessages(engine.db, caller)
    .where('messages.message_id', '=', messageId)
    .where(isLiveMessage)
    .where(isVisibleTo(caller, sql.ref('messages.space_pk')))
    .executeTakeFirst();
  if (!row) throw messageNotFound();
  const [message] = await describeMessages(engine.db, avatars, [row]);
  return message as Message;
}

/**
 * Sends a message to a space in which the caller is a participant.
 * @param claim the idempotency key of the request, if it has one
 * @throws DomainError `invalid_request`, `space_not_found`, `not_a_participant`, `space_is_read_only`,
 *   `message_not_found`, `too_many_requests`
 */
export async function sendMessage(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  { space_id: spaceId, text, reply_to }: MessageCreation,
  claim: KeyClaim | null,
): Promise<Message> {
  assertMessageText(text);
  const messageId = randomUUID();
  // Before the transaction, which on PostgreSQL would conflict with messages that are sent at the same time.
  const original = reply_to ? await findOriginal(engine.db, avatars, reply_to) : undefined;
  const message = await transact(engine, async (trx) => {
    const author = await requireUser(trx, caller);
    await claimKey(trx, caller.userPk, claim, messageId);
    await countOperation(trx, quotas, caller, 'sendMessage');
    const space = await findSpace(trx, caller, spaceId);
    if (reply_to && original?.spacePk !== space.pk) throw originalNotFound();
    requireRight(space, 'sendMessages');
    requireWritable(space);
    const mentioned = await findMentioned(trx, space.pk, text);
    const { ms, transaction } = await engine.nextEvent(trx, [space.pk]);
    const row = {
      message_id: messageId,
      space_pk: space.pk,
      author_pk: caller.userPk,
      text,
      word_count: countWords(text),
      created_at: formatTime(ms),
      edited_at: null,
      reply_to_pk: original?.pk ?? null,
      changed_in: transaction,
    };
    const [inserted] = await insertMessage(trx, row);
    if (mentioned.length > 0) {
      const { space_pk, created_at } = row;
      const message_pk = (inserted as { pk: number }).pk;
      await addMentions(trx, { space_pk, created_at, message_pk }, mentioned);
    }
    announceAfterCommit(engine, spaceSubject(spaceId));
    // Not read back, because PostgreSQL would then find conflicts between messages sent at the same time.
    const sent = {
      ...row,
      ...author,
      space_id: spaceId,
      appreciation_count: 0,
      is_appreciated: false,
      is_blocked: false,
    };
    const mentions = mentioned.map((user) => summarizeUser(avatars, user));
    return describeMessage(avatars, sent, original?.preview, mentions);
  });
  if (!reply_to) return message;
  // The original may have been edited or deleted while the transaction waited.
  const current = await findOriginal(engine.db, avatars, reply_to);
  return { ...message, reply_to: current?.preview ?? null };
}

/** The types of all columns of a new message. */
export const messageColumns = {
  message_id: 'text',
  space_pk: 'bigint',
  author_pk: 'bigint',
  text: 'text',
  word_count: 'bigint',
  created_at: 'text',
  edited_at: 'nullable text',
  reply_to_pk: 'nullable bigint',
  changed_in: 'bigint',
} as const satisfies Record<keyof NewRow<'messages'>, ParameterType>;

const insertMessage = prepare(messageColumns, (db, row) =>
  db.insertInto('messages').values(row).returning('pk'),
);

/**
 * Deletes a message that the caller wrote, or that is in a space of the caller, and its appreciations.
 * @throws DomainError `message_not_found`, `not_message_author`
 */
export async function deleteMessage(
  engine: Engine,
  caller: Caller,
  messageId: string,
): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const message = await findMessage(trx, caller, messageId);
    requireDeletable(message, caller);
    await eraseMessageRows(engine, trx, message);
  });
}

/**
 * Deletes any message like `deleteMessage`. For the operator.
 * @returns whether the message exists
 */
export async function removeMessage(engine: Engine, messageId: string): Promise<boolean> {
  return transact(engine, async (trx) => {
    const message = await trx
      .selectFrom('messages')
      .select(['pk', 'space_pk as spacePk', 'message_id as messageId'])
      .where('message_id', '=', messageId)
      .where(isLiveMessage)
      .executeTakeFirst();
    if (!message) return false;
    await eraseMessageRows(engine, trx, message);
    return true;
  });
}

async function eraseMessageRows(
  engine: Engine,
  trx: DatabaseTransaction,
  message: Pick<FoundMessage, 'pk' | 'spacePk' | 'messageId'>,
): Promise<void> {
  await recordDeletions(engine, trx, [message]);
  const deleted = await trx
    .deleteFrom('messages')
    .where('pk', '=', message.pk)
    .returning(['space_pk', 'created_at', 'text'])
    .execute();
  await updateWords(trx, deleted);
  await engine.requestLaterPurge(trx);
}

export interface FoundMessage {
  pk: number;
  messageId: string;
  spacePk: number;
  spaceId: string;
  authorPk: number;
  /** Of the caller in the space. */
  role: Role | null;
}

/**
 * Finds a message that the caller wrote, or whose space the caller may see.
 * @throws DomainError `message_not_found`
 */
export async function findMessage(
  db: Database,
  caller: Caller,
  messageId: string,
): Promise<FoundMessage> {
  const message = await db
    .selectFrom('messages')
    .innerJoin('spaces', 'spaces.pk', 'messages.space_pk')
    .leftJoin('participations', (join) =>
      join
        .onRef('participations.space_pk', '=', 'spaces.pk')
        .on('participations.user_pk', '=', caller.userPk)
        .on('participations.left_at', 'is', null),
    )
    .select([
      'messages.pk',
      'messages.message_id as messageId',
      'messages.space_pk as spacePk',
      'spaces.space_id as spaceId',
      'messages.author_pk as authorPk',
    ])
    .select(participantRole.as('role'))
    .where('message_id', '=', messageId)
    .where(isLiveMessage)
    .where(isFoundBy(caller))
    .executeTakeFirst();
  if (!message) throw messageNotFound();
  return message;
}

/**
 * Returns a message as the caller sees it, by its internal id. Does not check access.
 * @throws DomainError `message_not_found`
 */
export async function readMessage(
  db: Database,
  avatars: AvatarUrls,
  pk: number,
  caller: Caller,
): Promise<Message> {
  const row = await selectMessages(db, caller).where('messages.pk', '=', pk).executeTakeFirst();
  if (!row) throw messageNotFound();
  const [message] = await describeMessages(db, avatars, [row]);
  return message as Message;
}

export function messageNotFound(): DomainError {
  return new DomainError('message_not_found', 'There is no such message, or its space is private.');
}

export function selectMessages(db: Database, caller: Caller | null) {
  return db
    .selectFrom('messages')
    .innerJoin('spaces', 'spaces.pk', 'messages.space_pk')
    .innerJoin('users', 'users.pk', 'messages.author_pk')
    .select([
      'messages.pk',
      'messages.message_id',
      'spaces.space_id',
      'messages.text',
      'messages.word_count',
      'messages.created_at',
      'messages.edited_at',
      'messages.reply_to_pk',
      'users.user_id',
      'users.username',
      'users.avatar',
    ])
    .select(isLiveMessage.as('is_live'))
    .select(({ selectFrom }) =>
      selectFrom('appreciations')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('appreciations.message_pk', '=', 'messages.pk')
        .where(isLiveUser('appreciations.user_pk'))
        .as('appreciation_count'),
    )
    .select(({ exists, selectFrom }) =>
      exists(
        selectFrom('appreciations')
          .select('message_pk')
          .whereRef('appreciations.message_pk', '=', 'messages.pk')
          .where('appreciations.user_pk', '=', callerPk(caller)),
      ).as('is_appreciated'),
    )
    .select(hasBlocked(callerPk(caller), sql.ref('messages.author_pk')).as('is_blocked'));
}

type MessageRow = Awaited<ReturnType<ReturnType<typeof selectMessages>['execute']>>[number];

export async function describeMessages(
  db: Database,
  avatars: AvatarUrls,
  rows: readonly MessageRow[],
): Promise<Message[]> {
  const originals = await readOriginals(db, avatars, rows);
  const mentions = await readMentions(db, avatars, rows);
  return rows.map((row) =>
    describeMessage(avatars, row, originals.get(row.reply_to_pk), mentions.get(row.pk)),
  );
}

function describeMessage(
  avatars: AvatarUrls,
  row: Omit<MessageRow, 'pk' | 'is_live'>,
  original: MessagePreview = null,
  mentions: UserSummary[] = [],
): Message {
  return {
    message_id: row.message_id,
    space_id: row.space_id,
    author: summarizeUser(avatars, row),
    text: row.text,
    word_count: row.word_count,
    appreciation_count: row.appreciation_count ?? 0,
    // SQLite has no booleans.
    is_appreciated: Boolean(row.is_appreciated),
    is_blocked: Boolean(row.is_blocked),
    created_at: row.created_at,
    edited_at: row.edited_at,
    is_reply: row.reply_to_pk !== null,
    reply_to: original,
    mentions,
  };
}

/** Returns the state of a message as a caller sees it. */
export function stateOf(message: Message): ResourceState {
  return { version: Date.parse(message.edited_at ?? message.created_at), others: [message] };
}
