import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { isPasswordHash } from '../auth/passwords.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { refuseUnreadable } from '../messages/messages.ts';
import { Refusal } from '../refusal.ts';
import { indexSpaces } from '../search/documents.ts';
import { countWords } from '../search/words.ts';
import { parseDescription, parseTitle } from '../spaces/spaces.ts';
import { parseTags, setTags } from '../spaces/tags.ts';
import { parseBio } from '../users/bio.ts';
import { parseEmail } from '../users/email.ts';
import { parseUsername } from '../users/username.ts';
import {
  type AppreciationRecord,
  BadLine,
  type ExchangeRecord,
  type MessageRecord,
  type ParticipantRecord,
  parseRecord,
  type SpaceRecord,
  type UserRecord,
} from './records.ts';

export interface ImportReport {
  /** Lines that brought something new. */
  added: number;
  /** Lines that said what was there already. */
  unchanged: number;
  bad: { line: number; reason: string }[];
}

/** That a file was not imported because of its bad lines. Nothing of it was kept. */
export class ImportRefused extends Error {
  readonly report: ImportReport;

  constructor(report: ImportReport) {
    super(`${report.bad.length} bad lines; nothing was imported`);
    this.report = report;
  }
}

/** An import is given up after so many bad lines, unless they are to be skipped. */
const MOST_BAD_LINES = 100;

/**
 * Reads records into the database, in one transaction. What is there already, by its id, stays as it is.
 * @param lines    in the exchange format; empty ones are skipped
 * @param skipBad  whether to keep the good lines of a file that has bad ones
 * @param onLine   called with the number of lines read, now and then
 * @throws ImportRefused
 */
export async function importRecords(
  engine: Engine,
  lines: AsyncIterable<string>,
  {
    skipBad = false,
    onLine = () => {},
  }: { skipBad?: boolean; onLine?: (lines: number) => void } = {},
): Promise<ImportReport> {
  const report: ImportReport = { added: 0, unchanged: 0, bad: [] };
  return transact(engine.db, async (trx) => {
    const spaces = new Set<number>();
    let number = 0;
    for await (const line of lines) {
      number += 1;
      if (number % 1000 === 0) onLine(number);
      if (line.trim() === '') continue;
      try {
        const isNew = await addRecord(engine, trx, parseRecord(line), spaces);
        if (isNew) report.added += 1;
        else report.unchanged += 1;
      } catch (error) {
        if (!(error instanceof BadLine || error instanceof Refusal)) throw error;
        report.bad.push({ line: number, reason: error.message });
        if (!skipBad && report.bad.length >= MOST_BAD_LINES) throw new ImportRefused(report);
      }
    }
    onLine(number);
    if (report.bad.length > 0 && !skipBad) throw new ImportRefused(report);
    for (const space of spaces) await countParticipants(trx, space);
    await indexSpaces(engine, trx, [...spaces]);
    return report;
  });
}

/** Adds one record. Answers whether it was new; `spaces` collects those to be counted and indexed afterwards. */
async function addRecord(
  engine: Engine,
  trx: DatabaseTransaction,
  record: ExchangeRecord,
  spaces: Set<number>,
): Promise<boolean> {
  switch (record.type) {
    case 'user':
      return addUser(engine, trx, record);
    case 'space':
      return addSpace(trx, record, spaces);
    case 'participant':
      return addParticipant(trx, record, spaces);
    case 'message':
      return addMessage(trx, record);
    case 'appreciation':
      return addAppreciation(trx, record);
  }
}

async function addUser(
  engine: Engine,
  trx: DatabaseTransaction,
  record: UserRecord,
): Promise<boolean> {
  const { name, key, skeleton } = parseUsername(record.username);
  const { email, key: emailKey } = parseEmail(record.email);
  if (record.password_hash !== undefined && !isPasswordHash(record.password_hash)) {
    throw new BadLine('password_hash is not Argon2id in PHC form');
  }
  const createdAt = timeOf(record.created_at);
  const userId = record.user_id ?? idOf('user', emailKey);
  try {
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('users')
      .values({
        user_id: userId,
        username: name,
        username_key: key,
        username_skeleton: skeleton,
        email,
        email_key: emailKey,
        password_hash: record.password_hash ?? null,
        bio: parseBio(record.bio ?? ''),
        picture: record.picture ?? null,
        is_verified: record.is_verified ? 1 : 0,
        created_at: createdAt,
        updated_at: record.updated_at === undefined ? createdAt : timeOf(record.updated_at),
      })
      .onConflict((conflict) => conflict.column('user_id').doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  } catch (error) {
    if (!engine.isUniqueViolation(error)) throw error;
    throw new BadLine('has a username or address that belongs to another user');
  }
}

async function addSpace(
  trx: DatabaseTransaction,
  record: SpaceRecord,
  spaces: Set<number>,
): Promise<boolean> {
  const creator = await findUser(trx, record.creator_id, 'creator_id');
  const title = parseTitle(record.title);
  const description = parseDescription(record.description ?? '');
  const tags = parseTags(record.tags ?? []);
  const createdAt = timeOf(record.created_at);
  const visibility = record.visibility ?? 'public';
  if (visibility === 'public' && record.invitation_code !== undefined) {
    throw new BadLine('is public and has an invitation_code');
  }
  const row = await trx
    .insertInto('spaces')
    .values({
      space_id:
        record.space_id ?? idOf('space', record.creator_id, title, description, record.created_at),
      creator,
      title,
      description,
      visibility,
      invitation_code:
        visibility === 'private'
          ? (record.invitation_code ?? randomBytes(12).toString('base64url'))
          : null,
      participant_count: 0,
      created_at: createdAt,
    })
    .onConflict((conflict) => conflict.column('space_id').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!row) return false;
  await trx
    .insertInto('participations')
    .values({ space: row.id, user: creator, joined_at: createdAt, left_at: null })
    .execute();
  await setTags(trx, row.id, tags);
  spaces.add(row.id);
  return true;
}

async function addParticipant(
  trx: DatabaseTransaction,
  record: ParticipantRecord,
  spaces: Set<number>,
): Promise<boolean> {
  const space = await findSpace(trx, record.space_id);
  const user = await findUser(trx, record.user_id, 'user_id');
  if (user === space.creator) {
    if (record.left_at) throw new BadLine('is the space’s creator, who cannot leave');
    return false;
  }
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('participations')
    .values({
      space: space.id,
      user,
      joined_at: timeOf(record.joined_at),
      left_at: record.left_at ? timeOf(record.left_at) : null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows !== 1n) return false;
  spaces.add(space.id);
  return true;
}

async function addMessage(trx: DatabaseTransaction, record: MessageRecord): Promise<boolean> {
  refuseUnreadable(record.text);
  const space = await findSpace(trx, record.space_id);
  const author = await findUser(trx, record.author_id, 'author_id');
  const joined = await trx
    .selectFrom('participations')
    .select('user')
    .where('space', '=', space.id)
    .where('user', '=', author)
    .executeTakeFirst();
  if (!joined) throw new BadLine('has an author who never joined the space');
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('messages')
    .values({
      message_id:
        record.message_id ??
        idOf('message', record.space_id, record.author_id, record.text, record.created_at),
      space: space.id,
      author,
      text: record.text,
      word_count: countWords(record.text),
      created_at: timeOf(record.created_at),
    })
    .onConflict((conflict) => conflict.column('message_id').doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

async function addAppreciation(
  trx: DatabaseTransaction,
  record: AppreciationRecord,
): Promise<boolean> {
  const user = await findUser(trx, record.user_id, 'user_id');
  const message = await trx
    .selectFrom('messages')
    .select(['id', 'author'])
    .where('message_id', '=', record.message_id)
    .executeTakeFirst();
  if (!message) throw new BadLine(`message_id ${record.message_id} is not known`);
  if (message.author === user) throw new BadLine('is an appreciation of one’s own message');
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('appreciations')
    .values({
      message: message.id,
      user,
      author: message.author,
      created_at: timeOf(record.created_at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

async function countParticipants(trx: DatabaseTransaction, space: number): Promise<void> {
  await trx
    .updateTable('spaces')
    .set({
      participant_count: sql`(SELECT count(*) FROM participations WHERE space = ${space} AND left_at IS NULL)`,
    })
    .where('id', '=', space)
    .execute();
}

async function findUser(trx: DatabaseTransaction, userId: string, field: string): Promise<number> {
  const row = await trx
    .selectFrom('users')
    .select('id')
    .where('user_id', '=', userId)
    .executeTakeFirst();
  if (!row) throw new BadLine(`${field} ${userId} is not known`);
  return row.id;
}

async function findSpace(
  trx: DatabaseTransaction,
  spaceId: string,
): Promise<{ id: number; creator: number }> {
  const row = await trx
    .selectFrom('spaces')
    .select(['id', 'creator'])
    .where('space_id', '=', spaceId)
    .executeTakeFirst();
  if (!row) throw new BadLine(`space_id ${spaceId} is not known`);
  return row;
}

function timeOf(text: string | undefined): string {
  return (text === undefined ? new Date() : new Date(text)).toISOString();
}

/** An id for a record that has none, the same whenever it is the same record. */
function idOf(...parts: (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
