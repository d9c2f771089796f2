import type { InfiniteData, Mutation, QueryClient, QueryKey } from '@tanstack/react-query';
import type { OperationTypes } from '../generated/examples.gen.ts';
import type { Message, MessagePage } from '../generated/types.gen.ts';

export * from '../generated/@tanstack/react-query.gen.ts';

type OperationsWith<Method> = {
  [O in keyof OperationTypes]: OperationTypes[O]['method'] extends Method ? O : never;
}[keyof OperationTypes];
type Query = OperationsWith<'GET'>;
type Change = Exclude<keyof OperationTypes, Query>;

const SEARCHES = [
  'listSpaces',
  'listTags',
  'listUserSpaces',
  'searchSpaces',
  'searchSpacesByTag',
] as const;
const SPACES = [...SEARCHES, 'getSpace', 'listParticipations'] as const;
const PARTICIPATION = ['getSpace', 'getParticipation', 'listParticipations'] as const;
const PARTICIPANTS = [...SPACES, 'getParticipation', 'listParticipants', 'listRemovals'] as const;
const MESSAGES = ['listMessages', 'getMessage'] as const;
const AUTHORS = ['getProfile', 'getUser', ...SPACES, 'listParticipants', ...MESSAGES] as const;

/**
 * The queries that a successful mutation makes stale, by their operations. A change of the session makes all of them
 * stale. Statistics are computed at request time, so `getProfile` is stale after most mutations.
 */
export const STALE_AFTER: Readonly<Record<Change, readonly Query[] | 'all'>> = {
  register: 'all',
  login: 'all',
  logout: 'all',
  deleteAccount: 'all',
  endSession: ['listSessions'],
  changePassword: ['listSessions'],
  changeUsername: AUTHORS,
  changeBio: ['getProfile', 'getUser'],
  changeProfilePicture: AUTHORS,
  removeProfilePicture: AUTHORS,
  createSpace: [...SPACES, 'getProfile'],
  updateSpace: SPACES,
  deleteSpace: [...SPACES, 'getProfile'],
  renewInvitationCode: ['getSpace'],
  joinSpace: PARTICIPANTS,
  leaveSpace: PARTICIPANTS,
  removeParticipant: PARTICIPANTS,
  undoRemoval: PARTICIPANTS,
  markRead: PARTICIPATION,
  sendMessage: [...MESSAGES, ...PARTICIPATION, 'getProfile'],
  deleteMessage: [...MESSAGES, ...PARTICIPATION, 'getProfile'],
  appreciateMessage: MESSAGES,
  withdrawAppreciation: MESSAGES,
  reportSpace: [],
  reportMessage: [],
};

/**
 * Invalidates the queries that a mutation makes stale, and resolves when the active ones are fetched again.
 * @param mutation one with generated options, which have the name of its operation in `meta`
 */
export async function invalidateAfter(
  queryClient: QueryClient,
  { meta }: Pick<Mutation<unknown, Error, never>, 'meta'>,
): Promise<void> {
  const stale: readonly string[] | 'all' = STALE_AFTER[meta?.operation as Change] ?? [];
  await queryClient.invalidateQueries({
    predicate: ({ queryKey }) => stale === 'all' || stale.includes(readKey(queryKey)._id ?? ''),
  });
}

/** Adds a message to the infinite lists of its space in the cache, or replaces it there. */
export function putMessage(queryClient: QueryClient, message: Message): void {
  const isSame = ({ message_id }: Message) => message_id === message.message_id;
  changeMessages(queryClient, message.space_id, (pages) => {
    if (pages.some(({ items }) => items.some(isSame))) {
      return pages.map((page) => ({
        ...page,
        items: page.items.map((each) => (isSame(each) ? message : each)),
      }));
    }
    // The end of the last page is its place only if no older message remains to be loaded.
    const target = pages.find(
      ({ items, next_cursor }) =>
        next_cursor === null || items.some((each) => isNewer(message, each)),
    );
    return pages.map((page) =>
      page === target ? { ...page, items: [...page.items, message].sort(newestFirst) } : page,
    );
  });
}

/** Removes a message from the infinite lists of its space in the cache. */
export function dropMessage(
  queryClient: QueryClient,
  { space_id, message_id }: Pick<Message, 'space_id' | 'message_id'>,
): void {
  changeMessages(queryClient, space_id, (pages) =>
    pages.map((page) => ({
      ...page,
      items: page.items.filter((each) => each.message_id !== message_id),
    })),
  );
}

function changeMessages(
  queryClient: QueryClient,
  spaceId: string,
  change: (pages: MessagePage[]) => MessagePage[],
): void {
  const isList = ({ queryKey }: { queryKey: QueryKey }) => {
    const { _id, _infinite, query } = readKey(queryKey);
    return _id === 'listMessages' && _infinite === true && query?.space_id === spaceId;
  };
  queryClient.setQueriesData<InfiniteData<MessagePage>>(
    { predicate: isList },
    (list) => list && { ...list, pages: change(list.pages) },
  );
}

/** The order of `listMessages`. */
function newestFirst(a: Message, b: Message): number {
  return isNewer(a, b) ? -1 : 1;
}

function isNewer(a: Message, b: Message): boolean {
  const [time, other] = [a.created_at, b.created_at];
  return time > other || (time === other && a.message_id > b.message_id);
}

/** Returns the parts of a generated query key; those of other queries are missing. */
function readKey(queryKey: QueryKey): {
  _id?: string;
  _infinite?: boolean;
  query?: { space_id?: string };
} {
  return Object(queryKey[0]);
}
