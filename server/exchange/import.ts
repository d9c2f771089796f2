import { createHash, randomBytes } from 'node:crypto';
import type { Insertable } from 'kysely';
import { isPasswordHash } from '../auth/passwords.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { prepared } from '../database/prepared.ts';
import type { Appreciations, Messages, Participations, Spaces, Users } from '../database/schema.ts';
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

/** From so many new spaces on, the word index is worth being compacted at once. */
const MANY = 1_000;

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
    for (const space of spaces) await countParticipants(engine, { space }, trx);
    await indexSpaces(engine, trx, [...spaces]);
    if (spaces.size >= MANY) await engine.text.compact(trx);
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
      return addSpace(engine, trx, record, spaces);
    case 'participant':
      return addParticipant(engine, trx, record, spaces);
    case 'message':
      return addMessage(engine, trx, record);
    case 'appreciation':
      return addAppreciation(engine, trx, record);
  }
}

const insertUser = prepared<Insertable<Users>, { id: number }>(({ db }, values) =>
  db
    .insertInto('users')
    .values(values)
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .returning('id'),
);

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
  const user = {
    user_id: record.user_id ?? idOf('user', emailKey),
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
  };
  try {
    return (await insertUser(engine, user, trx)).length > 0;
  } catch (error) {
    if (!engine.isUniqueViolation(error)) throw error;
    throw new BadLine('has a username or address that belongs to another user');
  }
}

const insertSpace = prepared<Insertable<Spaces>, { id: number }>(({ db }, values) =>
  db
    .insertInto('spaces')
    .values(values)
    .onConflict((conflict) => conflict.column('space_id').doNothing())
    .returning('id'),
);

async function addSpace(
  engine: Engine,
  trx: DatabaseTransaction,
  record: SpaceRecord,
  spaces: Set<number>,
): Promise<boolean> {
  const creator = await findUser(engine, trx, record.creator_id, 'creator_id');
  const title = parseTitle(record.title);
  const description = parseDescription(record.description ?? '');
  const tags = parseTags(record.tags ?? []);
  const createdAt = timeOf(record.created_at);
  const visibility = record.visibility ?? 'public';
  if (visibility === 'public' && record.invitation_code !== undefined) {
    throw new BadLine('is public and has an invitation_code');
  }
  const space = {
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
  };
  const [row] = await insertSpace(engine, space, trx);
  if (!row) return false;
  const participation = { space: row.id, user: creator, joined_at: createdAt, left_at: null };
  await insertParticipation(engine, participation, trx);
  await setTags(trx, row.id, tags);
  spaces.add(row.id);
  return true;
}

const insertParticipation = prepared<Insertable<Participations>, { space: number }>(
  ({ db }, values) =>
    db
      .insertInto('participations')
      .values(values)
      .onConflict((conflict) => conflict.doNothing())
      .returning('space'),
);

async function addParticipant(
  engine: Engine,
  trx: DatabaseTransaction,
  record: ParticipantRecord,
  spaces: Set<number>,
): Promise<boolean> {
  const space = await findSpace(engine, trx, record.space_id);
  const user = await findUser(engine, trx, record.user_id, 'user_id');
  if (user === space.creator) {
    if (record.left_at) throw new BadLine('is the space’s creator, who cannot leave');
    return false;
  }
  const participation = {
    space: space.id,
    user,
    joined_at: timeOf(record.joined_at),
    left_at: record.left_at ? timeOf(record.left_at) : null,
  };
  const added = await insertParticipation(engine, participation, trx);
  if (added.length === 0) return false;
  spaces.add(space.id);
  return true;
}

const findParticipation = prepared<{ space: number; user: number }, { user: number }>(
  ({ db }, { space, user }) =>
    db
      .selectFrom('participations')
      .select('user')
      .where('space', '=', space)
      .where('user', '=', user),
);

const insertMessage = prepared<Insertable<Messages>, { id: number }>(({ db }, values) =>
  db
    .insertInto('messages')
    .values(values)
    .onConflict((conflict) => conflict.column('message_id').doNothing())
    .returning('id'),
);

async function addMessage(
  engine: Engine,
  trx: DatabaseTransaction,
  record: MessageRecord,
): Promise<boolean> {
  refuseUnreadable(record.text);
  const { id: space } = await findSpace(engine, trx, record.space_id);
  const author = await findUser(engine, trx, record.author_id, 'author_id');
  const joined = await findParticipation(engine, { space, user: author }, trx);
  if (joined.length === 0) throw new BadLine('has an author who never joined the space');
  const message = {
    message_id:
      record.message_id ??
      idOf('message', record.space_id, record.author_id, record.text, record.created_at),
    space,
    author,
    text: record.text,
    word_count: countWords(record.text),
    created_at: timeOf(record.created_at),
  };
  return (await insertMessage(engine, message, trx)).length > 0;
}

const findMessage = prepared<{ message_id: string }, { id: number; author: number }>(
  ({ db }, { message_id }) =>
    db.selectFrom('messages').select(['id', 'author']).where('message_id', '=', message_id),
);

const insertAppreciation = prepared<Insertable<Appreciations>, { message: number }>(
  ({ db }, values) =>
    db
      .insertInto('appreciations')
      .values(values)
      .onConflict((conflict) => conflict.doNothing())
      .returning('message'),
);

async function addAppreciation(
  engine: Engine,
  trx: DatabaseTransaction,
  record: AppreciationRecord,
): Promise<boolean> {
  const user = await findUser(engine, trx, record.user_id, 'user_id');
  const [message] = await findMessage(engine, { message_id: record.message_id }, trx);
  if (!message) throw new BadLine(`message_id ${record.message_id} is not known`);
  if (message.author === user) throw new BadLine('is an appreciation of one’s own message');
  const appreciation = {
    message: message.id,
    user,
    author: message.author,
    created_at: timeOf(record.created_at),
  };
  return (await insertAppreciation(engine, appreciation, trx)).length > 0;
}

const countParticipants = prepared<{ space: number }, never>(({ db }, { space }) =>
  db
    .updateTable('spaces')
    .set(({ selectFrom }) => ({
      participant_count: selectFrom('participations')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('space', '=', space)
        .where('left_at', 'is', null),
    }))
    .where('id', '=', space),
);

const findUserId = prepared<{ user_id: string }, { id: number }>(({ db }, { user_id }) =>
  db.selectFrom('users').select('id').where('user_id', '=', user_id),
);

async function findUser(
  engine: Engine,
  trx: DatabaseTransaction,
  userId: string,
  field: string,
): Promise<number> {
  const [row] = await findUserId(engine, { user_id: userId }, trx);
  if (!row) throw new BadLine(`${field} ${userId} is not known`);
  return row.id;
}

const findSpaceId = prepared<{ space_id: string }, { id: number; creator: number }>(
  ({ db }, { space_id }) =>
    db.selectFrom('spaces').select(['id', 'creator']).where('space_id', '=', space_id),
);

async function findSpace(
  engine: Engine,
  trx: DatabaseTransaction,
  spaceId: string,
): Promise<{ id: number; creator: number }> {
  const [row] = await findSpaceId(engine, { space_id: spaceId }, trx);
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
