import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Message } from '../../generated/types.gen.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import { avatarUrl } from '../avatars/store.ts';
import type { Database, Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import {
  decodeCursor,
  isTimePosition,
  type Page,
  type PageRequest,
  pageOf,
} from '../pagination.ts';
import { findSpace } from '../spaces/spaces.ts';
import { countWords } from '../text/words/words.ts';

/**
 * The messages of a space that the caller may see, newest first.
 * @throws DomainError `space_not_found`, `invalid_cursor`
 */
export async function listMessages(
  engine: Engine,
  caller: Caller | null,
  spaceId: string,
  { limit, cursor }: PageRequest,
  avatarBase: string,
): Promise<Page<Message>> {
  const space = await findSpace(engine.db, caller, spaceId);
  let query = selectMessages(engine.db)
    .where('messages.space', '=', space.id)
    .orderBy('messages.created_at', 'desc')
    .orderBy('messages.id', 'desc')
    .limit(limit + 1);
  if (cursor !== undefined) {
    const [createdAt, id] = decodeCursor<readonly [string, number]>(cursor, isTimePosition);
    query = query.where(sql<boolean>`(messages.created_at, messages.id) < (${createdAt}, ${id})`);
  }
  const page = pageOf(await query.execute(), limit, ({ created_at, id }) => [created_at, id]);
  return { next: page.next, items: page.items.map((row) => describe(row, avatarBase)) };
}

/**
 * Sends a message to a space that the caller takes part in.
 * @throws DomainError `invalid_request`, `space_not_found`, `not_a_participant`
 */
export async function sendMessage(
  engine: Engine,
  caller: Caller,
  spaceId: string,
  text: string,
  avatarBase: string,
): Promise<Message> {
  refuseUnreadable(text);
  return transact(engine.db, async (trx) => {
    await requireSession(trx, caller);
    const space = await findSpace(trx, caller, spaceId);
    if (!space.isParticipant) {
      throw new DomainError(
        'not_a_participant',
        'Only participants send messages. Join the space first.',
      );
    }
    const { id } = await trx
      .insertInto('messages')
      .values({
        message_id: randomUUID(),
        space: space.id,
        author: caller.user,
        text,
        word_count: countWords(text),
        created_at: new Date().toISOString(),
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    return readMessage(trx, id, avatarBase);
  });
}

/**
 * Deletes a message of the caller's, and its appreciations.
 * @throws DomainError `message_not_found`, `not_message_author`
 */
export async function deleteMessage(
  engine: Engine,
  caller: Caller,
  messageId: string,
): Promise<void> {
  await transact(engine.db, async (trx) => {
    await requireSession(trx, caller);
    const message = await findMessage(trx, caller, messageId);
    if (message.author !== caller.user) {
      throw new DomainError('not_message_author', 'Only its author can delete a message.');
    }
    await trx.deleteFrom('appreciations').where('message', '=', message.id).execute();
    await trx.deleteFrom('messages').where('id', '=', message.id).execute();
  });
}

/**
 * Finds a message that the caller may see: their own, and those in spaces that they may see.
 * @throws DomainError `message_not_found`
 */
export async function findMessage(
  db: Database,
  caller: Caller,
  messageId: string,
): Promise<{ id: number; author: number }> {
  const message = await db
    .selectFrom('messages')
    .innerJoin('spaces', 'spaces.id', 'messages.space')
    .select(['messages.id', 'messages.author'])
    .where('message_id', '=', messageId)
    .where((where) =>
      where.or([
        where('spaces.visibility', '=', 'public'),
        where('messages.author', '=', caller.user),
        where.exists(
          where
            .selectFrom('participations')
            .select('user')
            .whereRef('space', '=', 'spaces.id')
            .where('user', '=', caller.user)
            .where('left_at', 'is', null),
        ),
      ]),
    )
    .executeTakeFirst();
  if (!message) throw messageNotFound();
  return message;
}

/** A message by its internal number. */
export async function readMessage(db: Database, id: number, avatarBase: string): Promise<Message> {
  const row = await selectMessages(db).where('messages.id', '=', id).executeTakeFirst();
  if (!row) throw messageNotFound();
  return describe(row, avatarBase);
}

function messageNotFound(): DomainError {
  return new DomainError('message_not_found', 'There is no such message, or its space is private.');
}

function selectMessages(db: Database) {
  return db
    .selectFrom('messages')
    .innerJoin('spaces', 'spaces.id', 'messages.space')
    .innerJoin('users', 'users.id', 'messages.author')
    .select([
      'messages.id',
      'messages.message_id',
      'spaces.space_id',
      'messages.text',
      'messages.word_count',
      'messages.created_at',
      'users.user_id',
      'users.username',
      'users.picture',
    ])
    .select((select) =>
      select
        .selectFrom('appreciations')
        .select((count) => count.fn.countAll<number>().as('count'))
        .whereRef('appreciations.message', '=', 'messages.id')
        .as('appreciation_count'),
    );
}

type MessageRow = Awaited<ReturnType<ReturnType<typeof selectMessages>['execute']>>[number];

function describe(row: MessageRow, avatarBase: string): Message {
  return {
    message_id: row.message_id,
    space_id: row.space_id,
    author: {
      user_id: row.user_id,
      username: row.username,
      profile_picture: avatarUrl(avatarBase, row.picture),
    },
    text: row.text,
    word_count: row.word_count,
    appreciation_count: row.appreciation_count ?? 0,
    created_at: row.created_at,
  };
}

/** @throws DomainError `invalid_request` */
export function refuseUnreadable(text: string): void {
  // Characters that nobody sees do not make it less blank.
  if (!/[^\s\p{DI}]/v.test(text) || /[^\P{Cc}\n\r\t]/u.test(text)) {
    throw new DomainError(
      'invalid_request',
      'A message is not blank and has no control characters but line breaks and tabs.',
      [{ pointer: '/text', message: 'is blank or has control characters' }],
    );
  }
}
