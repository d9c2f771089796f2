import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { parseBio } from '../accounts/bio.ts';
import { parseEmail } from '../accounts/email.ts';
import { parseUsername } from '../accounts/username.ts';
import { isPasswordHash } from '../auth/password-hashing.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { prepareRead, prepareWrite } from '../database/prepared.ts';
import type { Spaces } from '../database/schema.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { assertMessageText } from '../messages/messages.ts';
import { refreshDictionary } from '../search/dictionary/dictionary.ts';
import { indexSpaces, noteSpaceToIndex, updateSearchIndex } from '../search/documents.ts';
import { newInvitationCode, parseDescription, parseTitle } from '../spaces/spaces.ts';
import { addTagWithId, parseTags, setTags } from '../spaces/tags.ts';
import { countWords } from '../text/word-count.ts';
import {
  type AppreciationRecord,
  BadLineError,
  type ExchangeRecord,
  type MessageRecord,
  type ParticipantRecord,
  parseRecord,
  type SpaceRecord,
  type UserRecord,
} from './records.ts';

export interface ImportReport {
  /** Number of lines that added something. */
  added: number;
  /** Number of lines whose record existed. */
  unchanged: number;
  bad: { line: number; reason: string }[];
}

/** A file was not imported because of its bad lines. */
export class ImportError extends Error {
  readonly report: ImportReport;

  constructor(report: ImportReport) {
    super(`${report.bad.length} bad lines; nothing was imported`);
    this.report = report;
  }
}

/** The state of a running import. */
interface Import {
  engine: Engine;
  trx: DatabaseTransaction;
  /** Spaces that were noted to be indexed recently, and need not be noted again. */
  noted: LRUCache<number, true>;
  /** Recent look-ups, since many records refer to the same users and spaces. */
  users: LRUCache<string, number>;
  spaces: LRUCache<string, { pk: number; creatorPk: number }>;
  participations: LRUCache<string, true>;
}

/** Maximum number of cached look-ups of each kind: some tens of megabytes in total. */
const MAX_CACHED = 100_000;

/** Number of changed spaces from which on the word index is compacted at once. */
const MIN_SPACES_TO_OPTIMIZE = 1_000;

/** Number of bad lines after which an import stops, unless they are skipped. */
const MAX_BAD_LINES = 100;

/**
 * Imports records into the database in one transaction. Records whose id exists are left unchanged.
 * @param lines    in the exchange format; empty lines are ignored
 * @param skipBad  whether to import the good lines of a file with bad ones
 * @param onLine   called with the number of lines read, every thousand lines
 * @throws ImportError if there are bad lines; nothing is imported then
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
  await updateSearchIndex(engine);
  await transact(engine.db, async (trx) => {
    const run: Import = {
      engine,
      trx,
      noted: new LRUCache({ max: MAX_CACHED }),
      users: new LRUCache({ max: MAX_CACHED }),
      spaces: new LRUCache({ max: MAX_CACHED }),
      participations: new LRUCache({ max: MAX_CACHED }),
    };
    let number = 0;
    for await (const line of lines) {
      number += 1;
      if (number % 1000 === 0) onLine(number);
      if (line.trim() === '') continue;
      try {
        const isNew = await addRecord(run, parseRecord(line));
        if (isNew) report.added += 1;
        else report.unchanged += 1;
      } catch (error) {
        if (!(error instanceof BadLineError || error instanceof DomainError)) throw error;
        report.bad.push({ line: number, reason: error.message });
        if (!skipBad && report.bad.length >= MAX_BAD_LINES) throw new ImportError(report);
      }
    }
    onLine(number);
    if (report.bad.length > 0 && !skipBad) throw new ImportError(report);
    await countParticipants(trx);
    const spaces = await indexSpaces(engine, trx);
    if (spaces >= MIN_SPACES_TO_OPTIMIZE) await engine.wordIndex.optimize(trx);
  });
  await refreshDictionary(engine);
  return report;
}

/** Adds one record. Returns whether it was new. */
async function addRecord(run: Import, record: ExchangeRecord): Promise<boolean> {
  switch (record.type) {
    case 'user':
      return addUser(run, record);
    case 'space':
      return addSpace(run, record);
    case 'participant':
      return addParticipant(run, record);
    case 'message':
      return addMessage(run, record);
    case 'appreciation':
      return addAppreciation(run, record);
  }
}

const insertUser = prepareWrite(
  {
    user_id: 'text',
    username: 'text',
    username_key: 'text',
    username_skeleton: 'text',
    email: 'text',
    email_key: 'text',
    password_hash: 'nullable text',
    bio: 'text',
    avatar: 'nullable text',
    is_verified: 'bigint',
    created_at: 'text',
    updated_at: 'text',
  },
  ({ db }, row) =>
    db
      .insertInto('users')
      .values(row)
      .onConflict((conflict) => conflict.column('user_id').doNothing())
      .returning('pk'),
);

async function addUser(run: Import, record: UserRecord): Promise<boolean> {
  const { engine, trx } = run;
  const { name, key, skeleton } = parseUsername(record.username);
  const { email, key: emailKey } = parseEmail(record.email);
  if (record.password_hash !== undefined && !isPasswordHash(record.password_hash)) {
    throw new BadLineError('password_hash is not Argon2id in PHC form');
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
    avatar: record.picture ?? null,
    is_verified: record.is_verified ? 1 : 0,
    created_at: createdAt,
    updated_at: record.updated_at === undefined ? createdAt : timeOf(record.updated_at),
  };
  try {
    return (await insertUser(engine, user, trx)).length > 0;
  } catch (error) {
    if (!engine.isUniqueViolation(error)) throw error;
    throw new BadLineError(
      'has a username, an e-mail address or a picture that belongs to another user',
    );
  }
}

const insertSpace = prepareWrite(
  {
    space_id: 'text',
    creator_pk: 'bigint',
    title: 'text',
    description: 'text',
    visibility: 'text',
    invitation_code: 'nullable text',
    participant_count: 'bigint',
    created_at: 'text',
  },
  ({ db }, row) =>
    db
      .insertInto('spaces')
      .values({ ...row, visibility: row.visibility.$castTo<Spaces['visibility']>() })
      .onConflict((conflict) => conflict.column('space_id').doNothing())
      .returning('pk'),
);

async function addSpace(run: Import, record: SpaceRecord): Promise<boolean> {
  const { engine, trx } = run;
  const creatorPk = await findUser(run, record.creator_id, 'creator_id');
  const title = parseTitle(record.title);
  const description = parseDescription(record.description ?? '');
  const { tags: tagNames = [], tag_ids: tagIds = [] } = record;
  const tags = parseTags(tagNames);
  if (record.tag_ids && tagIds.length !== tagNames.length) {
    throw new BadLineError('tag_ids must have one id for each tag');
  }
  const createdAt = timeOf(record.created_at);
  const visibility = record.visibility ?? 'public';
  if (visibility === 'public' && record.invitation_code !== undefined) {
    throw new BadLineError('is public and has an invitation_code');
  }
  const space = {
    space_id:
      record.space_id ?? idOf('space', record.creator_id, title, description, record.created_at),
    creator_pk: creatorPk,
    title,
    description,
    visibility,
    invitation_code:
      visibility === 'private' ? (record.invitation_code ?? newInvitationCode()) : null,
    participant_count: 0,
    created_at: createdAt,
  };
  const [row] = await insertSpace(engine, space, trx);
  if (!row) return false;
  const participation = {
    space_pk: row.pk,
    user_pk: creatorPk,
    joined_at: createdAt,
    left_at: null,
  };
  await insertParticipation(engine, participation, trx);
  for (const [i, tagId] of tagIds.entries()) {
    const [tag] = parseTags(tagNames.slice(i, i + 1));
    if (tag) await addTagWithId(engine, trx, tag, tagId);
  }
  await setTags(engine, trx, row.pk, tags);
  await noteSpace(run, row.pk);
  return true;
}

const insertParticipation = prepareWrite(
  { space_pk: 'bigint', user_pk: 'bigint', joined_at: 'text', left_at: 'nullable text' },
  ({ db }, row) =>
    db
      .insertInto('participations')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning('space_pk'),
);

async function addParticipant(run: Import, record: ParticipantRecord): Promise<boolean> {
  const { engine, trx } = run;
  const space = await findSpace(run, record.space_id);
  const userPk = await findUser(run, record.user_id, 'user_id');
  if (userPk === space.creatorPk) {
    if (record.left_at) throw new BadLineError('is the space’s creator, who cannot leave');
    return false;
  }
  const participation = {
    space_pk: space.pk,
    user_pk: userPk,
    joined_at: timeOf(record.joined_at),
    left_at: record.left_at ? timeOf(record.left_at) : null,
  };
  const added = await insertParticipation(engine, participation, trx);
  if (added.length === 0) return false;
  await noteSpace(run, space.pk);
  return true;
}

const findParticipation = prepareRead(
  { spacePk: 'bigint', userPk: 'bigint' },
  ({ db }, { spacePk, userPk }) =>
    db
      .selectFrom('participations')
      .select('user_pk')
      .where('space_pk', '=', spacePk)
      .where('user_pk', '=', userPk),
);

async function hasJoined(
  { engine, trx, participations }: Import,
  spacePk: number,
  userPk: number,
): Promise<boolean> {
  const key = `${spacePk} ${userPk}`;
  if (participations.get(key)) return true;
  const isFound = (await findParticipation(engine, { spacePk, userPk }, trx)).length > 0;
  if (isFound) participations.set(key, true);
  return isFound;
}

const insertMessage = prepareWrite(
  {
    message_id: 'text',
    space_pk: 'bigint',
    author_pk: 'bigint',
    text: 'text',
    word_count: 'bigint',
    created_at: 'text',
  },
  ({ db }, row) =>
    db
      .insertInto('messages')
      .values(row)
      .onConflict((conflict) => conflict.column('message_id').doNothing())
      .returning('pk'),
);

async function addMessage(run: Import, record: MessageRecord): Promise<boolean> {
  const { engine, trx } = run;
  assertMessageText(record.text);
  const { pk: spacePk } = await findSpace(run, record.space_id);
  const authorPk = await findUser(run, record.author_id, 'author_id');
  if (!(await hasJoined(run, spacePk, authorPk))) {
    throw new BadLineError('has an author who never joined the space');
  }
  const message = {
    message_id:
      record.message_id ??
      idOf('message', record.space_id, record.author_id, record.text, record.created_at),
    space_pk: spacePk,
    author_pk: authorPk,
    text: record.text,
    word_count: countWords(record.text),
    created_at: timeOf(record.created_at),
  };
  return (await insertMessage(engine, message, trx)).length > 0;
}

const findMessage = prepareRead({ message_id: 'text' }, ({ db }, { message_id }) =>
  db.selectFrom('messages').select(['pk', 'author_pk']).where('message_id', '=', message_id),
);

const insertAppreciation = prepareWrite(
  { message_pk: 'bigint', user_pk: 'bigint', author_pk: 'bigint', created_at: 'text' },
  ({ db }, row) =>
    db
      .insertInto('appreciations')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning('message_pk'),
);

async function addAppreciation(run: Import, record: AppreciationRecord): Promise<boolean> {
  const { engine, trx } = run;
  const userPk = await findUser(run, record.user_id, 'user_id');
  const [message] = await findMessage(engine, { message_id: record.message_id }, trx);
  if (!message) throw new BadLineError(`message_id ${record.message_id} is not known`);
  if (message.author_pk === userPk)
    throw new BadLineError('is an appreciation of one’s own message');
  const appreciation = {
    message_pk: message.pk,
    user_pk: userPk,
    author_pk: message.author_pk,
    created_at: timeOf(record.created_at),
  };
  return (await insertAppreciation(engine, appreciation, trx)).length > 0;
}

async function noteSpace({ engine, trx, noted }: Import, spacePk: number): Promise<void> {
  if (noted.get(spacePk)) return;
  await noteSpaceToIndex(engine, trx, spacePk);
  noted.set(spacePk, true);
}

/** Counts the participants of all noted spaces. */
async function countParticipants(trx: DatabaseTransaction): Promise<void> {
  await trx
    .updateTable('spaces')
    .set(({ selectFrom }) => ({
      participant_count: selectFrom('participations')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('space_pk', '=', 'spaces.pk')
        .where('left_at', 'is', null),
    }))
    .where('pk', 'in', (from) => from.selectFrom('spaces_to_index').select('space_pk'))
    .execute();
}

const findUserPk = prepareRead({ user_id: 'text' }, ({ db }, { user_id }) =>
  db.selectFrom('users').select('pk').where('user_id', '=', user_id),
);

async function findUser(
  { engine, trx, users }: Import,
  userId: string,
  field: string,
): Promise<number> {
  const known = users.get(userId);
  if (known !== undefined) return known;
  const [row] = await findUserPk(engine, { user_id: userId }, trx);
  if (!row) throw new BadLineError(`${field} ${userId} is not known`);
  users.set(userId, row.pk);
  return row.pk;
}

const findSpaceByPublicId = prepareRead({ space_id: 'text' }, ({ db }, { space_id }) =>
  db
    .selectFrom('spaces')
    .select(['pk', 'creator_pk as creatorPk'])
    .where('space_id', '=', space_id),
);

async function findSpace(
  { engine, trx, spaces }: Import,
  spaceId: string,
): Promise<{ pk: number; creatorPk: number }> {
  const known = spaces.get(spaceId);
  if (known) return known;
  const [row] = await findSpaceByPublicId(engine, { space_id: spaceId }, trx);
  if (!row) throw new BadLineError(`space_id ${spaceId} is not known`);
  spaces.set(spaceId, row);
  return row;
}

function timeOf(text: string | undefined): string {
  return (text === undefined ? new Date() : new Date(text)).toISOString();
}

/** Returns an id for a record without one: the same id for the same record. */
function idOf(...parts: (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
