import { sql } from 'kysely';
import type { DatabaseTransaction } from '../database/engine.ts';
import { isLiveMessage, isLiveUser } from '../database/erased-rows.ts';
import { columnOf, prepareForRows, prepareForSet } from '../database/prepared.ts';
import type { NewRow } from '../database/schema.ts';
import { updateWords } from '../message-words/update.ts';
import { insertMentions, mentionedIds } from '../messages/mentions.ts';
import { assertMessageText } from '../messages/message-text.ts';
import { messageColumns } from '../messages/messages.ts';
import { countWords } from '../text/word-count.ts';
import { deriveId, timeOrNow } from './defaults.ts';
import { importableSpaceId, importableTime } from './importable.ts';
import { findParticipations } from './participants.ts';
import { findMessages, findSpaces, findUsers, requireKnown } from './references.ts';
import {
  BadLineError,
  contentsOf,
  convertLines,
  countRecords,
  type ImportRun,
  type Line,
} from './run.ts';
import { id, ownIdSchema, recordSchema, textSchema, time } from './schemas.ts';

export interface MessageRecord {
  type: 'message';
  message_id?: string;
  space_id: string;
  author_id: string;
  text: string;
  created_at?: string;
  edited_at?: string | null;
  is_reply?: boolean;
  /** The message that it answers. With `is_reply`, that message has been deleted if this is null. */
  reply_to?: string | null;
  /** The `user_id` of each user whom it mentions. */
  mentions?: string[];
}

export const messageSchema = recordSchema('message', ['space_id', 'author_id', 'text'], {
  message_id: ownIdSchema('message_id'),
  space_id: id,
  author_id: id,
  text: textSchema('MessageCreation', 'text'),
  created_at: time,
  edited_at: { ...time, type: ['string', 'null'] },
  is_reply: { type: 'boolean' },
  reply_to: { ...id, type: ['string', 'null'] },
  mentions: { type: 'array', maxItems: 20, items: id },
});

export async function* readMessages(db: DatabaseTransaction): AsyncIterable<MessageRecord> {
  const rows = db
    .selectFrom('messages')
    .innerJoin('spaces', 'spaces.pk', 'messages.space_pk')
    .innerJoin('users', 'users.pk', 'messages.author_pk')
    .leftJoin('messages as original', (join) =>
      join.onRef('original.pk', '=', 'messages.reply_to_pk').on(isLiveUser('original.author_pk')),
    )
    .select([
      'messages.message_id',
      'spaces.space_id',
      'users.user_id as author_id',
      'messages.text',
      'messages.created_at',
      'messages.edited_at',
      'messages.reply_to_pk',
      'original.message_id as reply_to',
    ])
    .select(mentionedIds.as('mentioned'))
    .where(isLiveMessage)
    .orderBy('messages.pk')
    .stream();
  for await (const { space_id, created_at, reply_to_pk, mentioned, ...message } of rows) {
    yield {
      type: 'message',
      ...message,
      is_reply: reply_to_pk !== null,
      mentions: mentioned?.split(',') ?? [],
      space_id: importableSpaceId(space_id),
      created_at: importableTime(created_at),
    };
  }
}

const insertMessages = prepareForRows(messageColumns, (db, rows) =>
  db
    .insertInto('messages')
    .values(rows)
    .onConflict((conflict) => conflict.column('message_id').doNothing())
    .returning(['pk', 'message_id']),
);

/** The `reply_to_pk` of a reply to a deleted message. No message has this key. */
const DELETED_PK = 0;

export async function addMessages(
  run: ImportRun,
  records: readonly Line<MessageRecord>[],
): Promise<void> {
  const { trx, report, engine, transaction } = run;
  const spaces = await findSpaces(run, records);
  const users = await findUsers(run, records, 'author_id');
  const mentioned = await findUsers(run, mentionsIn(records), 'user_id');
  const answered = contentsOf(records).flatMap(({ reply_to }) => reply_to ?? []);
  const originals = new Map<string, Original | null>(await findMessages(run, answered));
  const resolved = convertLines(run, records, (record) => {
    assertMessageText(record.text);
    return {
      record,
      space_pk: requireKnown(run, spaces, record.space_id, 'space_id').pk,
      user_pk: requireKnown(run, users, record.author_id, 'author_id'),
    };
  });
  const participations = await findParticipations(run, contentsOf(resolved));
  const valid = convertLines(run, resolved, ({ record, space_pk, user_pk }) => {
    if (!participations.has({ space_pk, user_pk })) {
      run.rejected.throwIfCauseOf(`participant ${record.space_id} ${record.author_id}`);
      throw new BadLineError('has an author who never joined the space');
    }
    const original = record.reply_to
      ? requireKnown(run, originals, record.reply_to, 'reply_to')
      : undefined;
    if (original && original.space_pk !== space_pk) {
      throw new BadLineError('has a reply_to in another space');
    }
    if (original && record.is_reply === false) {
      throw new BadLineError('has a reply_to, but is_reply is false');
    }
    const created_at = timeOrNow(record.created_at);
    const edited_at = record.edited_at ? timeOrNow(record.edited_at) : null;
    if (edited_at !== null && (record.created_at === undefined || edited_at < created_at)) {
      throw new BadLineError('has an edited_at, but no created_at before it');
    }
    const mentions = new Set(
      record.mentions?.map((each) => requireKnown(run, mentioned, each, 'mentions')),
    );
    const row = {
      message_id:
        record.message_id ??
        deriveId('message', record.space_id, record.author_id, record.text, record.created_at),
      space_pk,
      author_pk: user_pk,
      text: record.text,
      word_count: countWords(record.text),
      created_at,
      edited_at,
      reply_to_pk: original?.pk ?? (record.reply_to || record.is_reply ? DELETED_PK : null),
      changed_in: transaction,
    };
    // Later records can answer it.
    if (!originals.has(row.message_id)) originals.set(row.message_id, { space_pk });
    return { row, mentions, reply_to: record.reply_to };
  });
  const rows = contentsOf(valid).map(({ row }) => row);
  const added = await insertMessages(trx, rows);
  await addReplies(trx, contentsOf(valid), added);
  await addMentions(trx, contentsOf(valid), added);
  await updateWords(
    trx,
    rows.map(({ space_pk, created_at }) => ({ space_pk, created_at, text: '' })),
  );
  // Later events get later times.
  if (valid.length > 0) await engine.nextEvent(trx, columnOf(rows, 'space_pk'));
  countRecords(report, valid.length, added.length);
}

/** A message that can be answered. It has no key before its batch is added. */
interface Original {
  pk?: number;
  space_pk: number;
}

/** Stores which of the added messages answer others of the same batch. */
async function addReplies(
  trx: DatabaseTransaction,
  messages: readonly { row: NewRow<'messages'>; reply_to?: string | null | undefined }[],
  added: readonly { pk: number; message_id: string }[],
): Promise<void> {
  const pks = new Map(added.map(({ pk, message_id }) => [message_id, pk]));
  const originals = new Map(pks);
  const rows = messages.flatMap(({ row: { message_id }, reply_to }) => {
    const pk = pks.get(message_id);
    // Of equal ids, only the first record is added.
    pks.delete(message_id);
    const original = reply_to ? originals.get(reply_to) : undefined;
    return pk !== undefined && original !== undefined ? { pk, original } : [];
  });
  await updateReplies(trx, rows);
}

const updateReplies = prepareForSet({ pk: 'bigint', original: 'bigint' }, (_db, rows) => {
  const values = rows.map(({ pk, original }) => sql`(${pk}, ${original})`);
  // Both kinds of database name the columns like this.
  return sql<never>`
    UPDATE messages SET reply_to_pk = replies.column2 FROM (VALUES ${sql.join(values)}) AS replies
    WHERE messages.pk = replies.column1`;
});

/** Returns a line for each mention. */
function mentionsIn(records: readonly Line<MessageRecord>[]): Line<{ user_id: string }>[] {
  return records.flatMap(({ content: { mentions = [] }, ...line }) =>
    mentions.map((user_id) => ({ ...line, content: { user_id } })),
  );
}

/** Stores whom the added messages mention. */
async function addMentions(
  trx: DatabaseTransaction,
  messages: readonly { row: NewRow<'messages'>; mentions: ReadonlySet<number> }[],
  added: readonly { pk: number; message_id: string }[],
): Promise<void> {
  const pks = new Map(added.map(({ pk, message_id }) => [message_id, pk]));
  const rows = messages.flatMap(({ row: { message_id, space_pk, created_at }, mentions }) => {
    const message_pk = pks.get(message_id);
    // Of equal ids, only the first record is added.
    pks.delete(message_id);
    if (message_pk === undefined) return [];
    return Array.from(mentions, (user_pk) => ({ user_pk, space_pk, created_at, message_pk }));
  });
  await insertMentions(trx, rows);
}
