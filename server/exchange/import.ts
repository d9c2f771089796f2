import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { parseBio } from '../accounts/bio.ts';
import { parseEmail } from '../accounts/email.ts';
import { parseUsername } from '../accounts/username.ts';
import { isPasswordHash, PASSWORD_HASH_RULE } from '../auth/password-hashing.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { prepareRead, prepareWrite } from '../database/prepared.ts';
import type { Spaces } from '../database/schema.ts';
import { transactAlone } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { assertMessageText } from '../messages/messages.ts';
import { eraseDeletedRows } from '../profile/account-deletion.ts';
import { refreshDictionary } from '../search/dictionary/dictionary.ts';
import { enqueueSpace, indexQueuedSpaces, updateSearchIndex } from '../search/documents.ts';
import { newInvitationCode, parseDescription, parseTitle } from '../spaces/spaces.ts';
import { addTagWithId, parseTags, setTags } from '../spaces/tags.ts';
import { distinctSkeleton } from '../text/username-keys.ts';
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
  /** Number of records added. */
  added: number;
  /** Number of records that already existed. */
  unchanged: number;
  bad: { line: number; reason: string }[];
}

/** Thrown if nothing was imported because of bad lines. */
export class ImportError extends Error {
  readonly report: ImportReport;

  constructor(report: ImportReport) {
    super(`${report.bad.length} bad lines; nothing was imported`);
    this.report = report;
  }
}

/** The state of a running import. The caches avoid queries, because many records refer to the same users and spaces. */
interface ImportRun {
  engine: Engine;
  trx: DatabaseTransaction;
  /** Spaces that are known to be queued for indexing. */
  queued: LRUCache<number, true>;
  users: LRUCache<string, number>;
  spaces: LRUCache<string, { pk: number; creatorPk: number }>;
  participations: LRUCache<string, true>;
}

/** Maximum number of entries in each cache. All caches together take some tens of megabytes. */
const MAX_CACHE_ENTRIES = 100_000;

/** An import that changes this many spaces merges the word index at the end. */
const MIN_SPACES_TO_OPTIMIZE = 1_000;

/** Without `skipBad`, an import stops after this many bad lines. */
const MAX_BAD_LINES = 100;

/**
 * Imports records into the database in one transaction. Does not change records that already exist.
 * @param lines    in the exchange format; empty lines are ignored
 * @param skipBad  whether to skip bad lines instead of throwing
 * @param onLine   called with the number of lines read, every thousand lines and at the end
 * @throws ImportError if there are bad lines; then nothing is imported
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
  // The command may run before a new version of the server has updated the index.
  await updateSearchIndex(engine);
  // So that the records of a deleted account can be imported again.
  while (!(await eraseDeletedRows(engine)));
  await transactAlone(engine, async (trx) => {
    const run: ImportRun = {
      engine,
      trx,
      queued: new LRUCache({ max: MAX_CACHE_ENTRIES }),
      users: new LRUCache({ max: MAX_CACHE_ENTRIES }),
      spaces: new LRUCache({ max: MAX_CACHE_ENTRIES }),
      participations: new LRUCache({ max: MAX_CACHE_ENTRIES }),
    };
    let lineNumber = 0;
    for await (const line of lines) {
      lineNumber += 1;
      if (lineNumber % 1000 === 0) onLine(lineNumber);
      if (line.trim() === '') continue;
      try {
        const isNew = await addRecord(run, parseRecord(line));
        if (isNew) report.added += 1;
        else report.unchanged += 1;
      } catch (error) {
        if (!(error instanceof BadLineError || error instanceof DomainError)) throw error;
        report.bad.push({ line: lineNumber, reason: error.message });
        if (!skipBad && report.bad.length >= MAX_BAD_LINES) throw new ImportError(report);
      }
    }
    onLine(lineNumber);
    if (report.bad.length > 0 && !skipBad) throw new ImportError(report);
    await countParticipants(trx);
    const spaces = await indexQueuedSpaces(engine, trx);
    if (spaces >= MIN_SPACES_TO_OPTIMIZE) await engine.wordIndex.optimize(trx);
  });
  await refreshDictionary(engine);
  return report;
}

/** Adds a record unless it exists. Returns whether it was added. */
async function addRecord(run: ImportRun, record: ExchangeRecord): Promise<boolean> {
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
    suspended_at: 'nullable text',
  },
  ({ db }, row) =>
    db
      .insertInto('users')
      .values(row)
      .onConflict((conflict) => conflict.column('user_id').doNothing())
      .returning('pk'),
);

const findSkeleton = prepareRead({ skeleton: 'text', userId: 'text' }, ({ db }, values) =>
  db
    .selectFrom('users')
    .select('pk')
    .where('username_skeleton', '=', values.skeleton)
    .where('user_id', '!=', values.userId),
);

async function addUser(run: ImportRun, record: UserRecord): Promise<boolean> {
  const { engine, trx } = run;
  const isOld = record.has_old_username ?? false;
  const { name, key, skeleton } = parseUsername(record.username, { isOld });
  const { email, key: emailKey } = parseEmail(record.email);
  if (record.password_hash !== undefined && !isPasswordHash(record.password_hash)) {
    throw new BadLineError(`password_hash must be ${PASSWORD_HASH_RULE}`);
  }
  const createdAt = timeOrNow(record.created_at);
  const userId = record.user_id ?? deriveId('user', emailKey);
  const isSkeletonTaken =
    isOld && (await findSkeleton(engine, { skeleton, userId }, trx)).length > 0;
  const user = {
    user_id: userId,
    username: name,
    username_key: key,
    username_skeleton: isSkeletonTaken ? distinctSkeleton(skeleton, userId) : skeleton,
    email,
    email_key: emailKey,
    password_hash: record.password_hash ?? null,
    bio: parseBio(record.bio ?? ''),
    avatar: record.picture ?? null,
    is_verified: record.is_verified ? 1 : 0,
    created_at: createdAt,
    updated_at: record.updated_at === undefined ? createdAt : timeOrNow(record.updated_at),
    suspended_at: record.suspended_at === undefined ? null : timeOrNow(record.suspended_at),
  };
  try {
    return (await insertUser(engine, user, trx)).length > 0;
  } catch (error) {
    if (!engine.isUniqueViolation(error)) throw error;
    throw new BadLineError(
      'has a username, an email address or a picture that belongs to another user',
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

async function addSpace(run: ImportRun, record: SpaceRecord): Promise<boolean> {
  const { engine, trx } = run;
  const creatorPk = await resolveUser(run, record.creator_id, 'creator_id');
  const title = parseTitle(record.title);
  const description = parseDescription(record.description ?? '');
  const { tags: tagNames = [], tag_ids: tagIds = [] } = record;
  const tags = parseTags(tagNames);
  if (record.tag_ids && tagIds.length !== tagNames.length) {
    throw new BadLineError('tag_ids must have one id for each tag');
  }
  const createdAt = timeOrNow(record.created_at);
  const visibility = record.visibility ?? 'public';
  if (visibility === 'public' && record.invitation_code !== undefined) {
    throw new BadLineError('is public and has an invitation_code');
  }
  const space = {
    space_id:
      record.space_id ??
      deriveId('space', record.creator_id, title, description, record.created_at),
    creator_pk: creatorPk,
    title,
    description,
    visibility,
    invitation_code:
      visibility === 'private' ? (record.invitation_code ?? newInvitationCode()) : null,
    // Set by `countParticipants` at the end of the import.
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
    removed_at: null,
  };
  await insertParticipation(engine, participation, trx);
  for (const [i, tagId] of tagIds.entries()) {
    // Parsed one by one, because `parseTags` drops duplicates, so `tags` can be shorter than `tagIds`.
    const [tag] = parseTags(tagNames.slice(i, i + 1));
    if (tag) await addTagWithId(engine, trx, tag, tagId);
  }
  await setTags(engine, trx, row.pk, tags);
  await enqueueOnce(run, row.pk);
  return true;
}

const insertParticipation = prepareWrite(
  {
    space_pk: 'bigint',
    user_pk: 'bigint',
    joined_at: 'text',
    left_at: 'nullable text',
    removed_at: 'nullable text',
  },
  ({ db }, row) =>
    db
      .insertInto('participations')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning('space_pk'),
);

async function addParticipant(run: ImportRun, record: ParticipantRecord): Promise<boolean> {
  const { engine, trx } = run;
  const space = await resolveSpace(run, record.space_id);
  const userPk = await resolveUser(run, record.user_id, 'user_id');
  if (record.removed_at && !record.left_at)
    throw new BadLineError('has removed_at without left_at');
  if (userPk === space.creatorPk) {
    if (record.left_at) throw new BadLineError('is the space’s creator, who cannot leave');
    // `addSpace` has already added the creator.
    return false;
  }
  const participation = {
    space_pk: space.pk,
    user_pk: userPk,
    joined_at: timeOrNow(record.joined_at),
    left_at: record.left_at ? timeOrNow(record.left_at) : null,
    removed_at: record.removed_at ? timeOrNow(record.removed_at) : null,
  };
  const added = await insertParticipation(engine, participation, trx);
  if (added.length === 0) return false;
  await enqueueOnce(run, space.pk);
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

/** Whether a user is or was a participant. */
async function hasJoined(
  { engine, trx, participations }: ImportRun,
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

async function addMessage(run: ImportRun, record: MessageRecord): Promise<boolean> {
  const { engine, trx } = run;
  assertMessageText(record.text);
  const { pk: spacePk } = await resolveSpace(run, record.space_id);
  const authorPk = await resolveUser(run, record.author_id, 'author_id');
  if (!(await hasJoined(run, spacePk, authorPk))) {
    throw new BadLineError('has an author who never joined the space');
  }
  const message = {
    message_id:
      record.message_id ??
      deriveId('message', record.space_id, record.author_id, record.text, record.created_at),
    space_pk: spacePk,
    author_pk: authorPk,
    text: record.text,
    word_count: countWords(record.text),
    created_at: timeOrNow(record.created_at),
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

async function addAppreciation(run: ImportRun, record: AppreciationRecord): Promise<boolean> {
  const { engine, trx } = run;
  const userPk = await resolveUser(run, record.user_id, 'user_id');
  const [message] = await findMessage(engine, { message_id: record.message_id }, trx);
  if (!message) throw new BadLineError(`message_id ${record.message_id} is not known`);
  if (message.author_pk === userPk)
    throw new BadLineError('is an appreciation of one’s own message');
  const appreciation = {
    message_pk: message.pk,
    user_pk: userPk,
    author_pk: message.author_pk,
    created_at: timeOrNow(record.created_at),
  };
  return (await insertAppreciation(engine, appreciation, trx)).length > 0;
}

async function enqueueOnce({ engine, trx, queued }: ImportRun, spacePk: number): Promise<void> {
  if (queued.get(spacePk)) return;
  await enqueueSpace(engine, trx, spacePk);
  queued.set(spacePk, true);
}

/** Sets the participant counts of all queued spaces. */
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

const findUser = prepareRead({ user_id: 'text' }, ({ db }, { user_id }) =>
  db.selectFrom('users').select('pk').where('user_id', '=', user_id),
);

async function resolveUser(
  { engine, trx, users }: ImportRun,
  userId: string,
  field: string,
): Promise<number> {
  const known = users.get(userId);
  if (known !== undefined) return known;
  const [row] = await findUser(engine, { user_id: userId }, trx);
  if (!row) throw new BadLineError(`${field} ${userId} is not known`);
  users.set(userId, row.pk);
  return row.pk;
}

const findSpace = prepareRead({ space_id: 'text' }, ({ db }, { space_id }) =>
  db
    .selectFrom('spaces')
    .select(['pk', 'creator_pk as creatorPk'])
    .where('space_id', '=', space_id),
);

async function resolveSpace(
  { engine, trx, spaces }: ImportRun,
  spaceId: string,
): Promise<{ pk: number; creatorPk: number }> {
  const known = spaces.get(spaceId);
  if (known) return known;
  const [row] = await findSpace(engine, { space_id: spaceId }, trx);
  if (!row) throw new BadLineError(`space_id ${spaceId} is not known`);
  spaces.set(spaceId, row);
  return row;
}

/** Returns a time in UTC with milliseconds; the current time for a record without one. */
function timeOrNow(text: string | undefined): string {
  return (text === undefined ? new Date() : new Date(text)).toISOString();
}

/** Returns an id for a record without one: 132 bits of a hash, so that the same record always gets the same id. */
function deriveId(...parts: (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
