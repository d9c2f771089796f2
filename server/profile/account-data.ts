import { sql } from 'kysely';
import type {
  AccountData,
  OwnAppreciation,
  OwnMessage,
  OwnParticipation,
  OwnReport,
  Space,
} from '../../generated/types.gen.ts';
import { type Caller, listSessions, requireSession } from '../auth/sessions.ts';
import { listBlocks } from '../blocks/blocks.ts';
import type { SessionLifetimes } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { isLiveMessage, isLiveReport, isLiveSpace, isLiveUser } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import { mentionedIds } from '../messages/mentions.ts';
import { type Page, type PageRequest, pageOf, readPages } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { describeSpaces } from '../spaces/describe-spaces.ts';
import { nextTurn } from '../system/event-loop.ts';
import { listTokens } from '../tokens/tokens.ts';
import { readProfile } from './profile.ts';

/** Number of rows read at once. Bounds the memory and the uninterrupted time of a download. */
const BATCH_SIZE = 50;

/**
 * Returns all data that the service stores about the caller, as parts of the JSON text of one `AccountData`.
 *
 * The parts are read while the text is sent. They are not one snapshot, because a slow client would keep it open, and
 * until it is closed, deleted content cannot be overwritten.
 * @throws DomainError `unauthenticated` if the account has been deleted. Reading a part throws it if the session has
 *   ended meanwhile, so that the download contains nothing that was written later.
 */
export async function readAccountData(
  resources: AvatarResources,
  caller: Caller,
  lifetimes: SessionLifetimes,
): Promise<AsyncGenerator<string>> {
  const { engine } = resources;
  const account = await readProfile(resources, caller);
  const pagesOf = <T>(read: (request: PageRequest) => Promise<Page<T>>) =>
    readPages(async (request) => {
      await nextTurn();
      return read(request);
    }, BATCH_SIZE);
  const lists: Lists = {
    sessions: pagesOf((request) => listSessions(engine, caller, lifetimes, request)),
    tokens: pagesOf((request) => listTokens(engine, caller, request)),
    spaces: pagesOf((request) => listOwnSpaces(resources, caller, request)),
    participations: pagesOf((request) => listAllParticipations(engine, caller, request)),
    messages: pagesOf((request) => listOwnMessages(engine, caller, request)),
    appreciations: pagesOf((request) => listOwnAppreciations(engine, caller, request)),
    reports: pagesOf((request) => listOwnReports(engine, caller, request)),
    blocks: pagesOf((request) => listBlocks(resources, caller, request)),
  };
  return (async function* () {
    yield `{"account":${JSON.stringify(account)}`;
    for (const [name, pages] of Object.entries(lists)) {
      yield `,"${name}":[`;
      let separator = '';
      for await (const items of pages) {
        // After the query. Otherwise, the page could contain what was written after the session had ended.
        await requireSession(engine.db, caller);
        if (items.length === 0) continue;
        yield separator + items.map((item) => JSON.stringify(item)).join(',');
        separator = ',';
      }
      yield ']';
    }
    yield '}';
  })();
}

/** The lists of `AccountData`, in the order of the text. */
type Lists = {
  [Name in Exclude<keyof AccountData, 'account'>]: AsyncIterable<AccountData[Name]>;
};

async function listOwnSpaces(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  request: PageRequest,
): Promise<Page<Space>> {
  const query = engine.db.selectFrom('spaces').select('pk').where('creator_pk', '=', caller.userPk);
  const { items, next } = await readPage(query, ['pk'], 'asc', request);
  const spacePks = items.map(({ pk }) => pk);
  const spaces = await describeSpaces(engine.db, avatars, spacePks, caller);
  return { items: spacePks.flatMap((pk) => spaces.get(pk) ?? []), next };
}

async function listAllParticipations(
  engine: Engine,
  { userPk }: Caller,
  request: PageRequest,
): Promise<Page<OwnParticipation>> {
  const query = engine.db
    .selectFrom('participations')
    .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
    .select(['spaces.space_id', 'space_pk', 'joined_at', 'left_at', 'removed_at', 'read_until'])
    .select(['is_moderator', 'is_muted'])
    .select(isLiveSpace('space_pk').as('is_live'))
    .where('user_pk', '=', userPk);
  const { items, next } = await readPage(query, ['joined_at', 'space_pk'], 'asc', request);
  return {
    items: liveItems(items).map(({ space_pk: _, is_moderator, is_muted, ...participation }) => ({
      ...participation,
      is_moderator: is_moderator === 1,
      muted: is_muted === 1,
    })),
    next,
  };
}

/**
 * In the order of the index by author: space, word count, `pk`. Two queries, because the database cannot find the start
 * of a page with one comparison of all three columns.
 */
async function listOwnMessages(
  engine: Engine,
  { userPk }: Caller,
  { limit, position = [0, 0, 0] }: PageRequest,
): Promise<Page<OwnMessage>> {
  const [spacePk, wordCount, pk] = position as [number, number, number];
  const rows = await selectOwnMessages(engine, userPk)
    .where('messages.space_pk', '=', spacePk)
    .where('messages.word_count', '=', wordCount)
    .where('messages.pk', '>', pk)
    .orderBy('messages.pk')
    .limit(limit + 1)
    .execute();
  const others = await selectOwnMessages(engine, userPk)
    .where(sql<boolean>`(messages.space_pk, messages.word_count) > (${spacePk}, ${wordCount})`)
    .orderBy('messages.space_pk')
    .orderBy('messages.word_count')
    .orderBy('messages.pk')
    .limit(limit + 1 - rows.length)
    .execute();
  rows.push(...others);
  const { items, next } = pageOf(rows, limit, (row) => [row.space_pk, row.word_count, row.pk]);
  return {
    items: liveItems(items).map(({ pk: _, space_pk: __, reply_to_pk, mentioned, ...message }) => ({
      ...message,
      is_reply: reply_to_pk !== null,
      mentions: mentioned?.split(',') ?? [],
    })),
    next,
  };
}

function selectOwnMessages({ db }: Engine, userPk: number) {
  return db
    .selectFrom('messages')
    .innerJoin('spaces', 'spaces.pk', 'messages.space_pk')
    .leftJoin('messages as original', (join) =>
      join.onRef('original.pk', '=', 'messages.reply_to_pk').on(isLiveUser('original.author_pk')),
    )
    .select([
      'messages.pk',
      'messages.space_pk',
      'messages.message_id',
      'spaces.space_id',
      'messages.text',
      'messages.word_count',
      'messages.created_at',
      'messages.edited_at',
      'messages.reply_to_pk',
      'original.message_id as reply_to',
    ])
    .select((select) =>
      select
        .selectFrom('appreciations')
        .select((count) => count.fn.countAll<number>().as('count'))
        .whereRef('appreciations.message_pk', '=', 'messages.pk')
        .where(isLiveUser('appreciations.user_pk'))
        .$asScalar()
        .$notNull()
        .as('appreciation_count'),
    )
    .select(mentionedIds.as('mentioned'))
    .select(isLiveMessage.as('is_live'))
    .where('messages.author_pk', '=', userPk);
}

async function listOwnAppreciations(
  engine: Engine,
  { userPk }: Caller,
  request: PageRequest,
): Promise<Page<OwnAppreciation>> {
  const query = engine.db
    .selectFrom('appreciations')
    .innerJoin('messages', 'messages.pk', 'appreciations.message_pk')
    .select(['appreciations.message_pk', 'messages.message_id', 'appreciations.created_at'])
    .select(isLiveMessage.as('is_live'))
    .where('appreciations.user_pk', '=', userPk);
  const { items, next } = await readPage(query, ['appreciations.message_pk'], 'asc', request);
  return {
    items: liveItems(items).map(({ message_pk: _, ...appreciation }) => appreciation),
    next,
  };
}

async function listOwnReports(
  engine: Engine,
  { userPk }: Caller,
  request: PageRequest,
): Promise<Page<OwnReport>> {
  const query = engine.db
    .selectFrom('reports')
    .leftJoin('spaces', 'spaces.pk', 'reports.space_pk')
    .leftJoin('messages', 'messages.pk', 'reports.message_pk')
    .leftJoin('users', 'users.pk', 'reports.user_pk')
    .select([
      'reports.pk',
      'spaces.space_id',
      'messages.message_id',
      'users.user_id',
      'reports.reason',
      'reports.created_at',
    ])
    .where('reports.reporter_pk', '=', userPk)
    .where(isLiveReport);
  const { items, next } = await readPage(query, ['reports.pk'], 'asc', request);
  const reports = items.map(({ pk: _, ...report }) =>
    report.message_id === null ? report : { ...report, space_id: null },
  );
  return { items: reports, next };
}

/** Omits deleted rows. Filters after the query, so that one page never reads past many deleted rows. */
function liveItems<Row extends { is_live: boolean }>(rows: Row[]): Omit<Row, 'is_live'>[] {
  return rows.filter(({ is_live }) => is_live).map(({ is_live: _, ...item }) => item);
}
