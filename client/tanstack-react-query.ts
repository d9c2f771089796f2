import {
  type Mutation,
  MutationCache,
  type NetworkMode,
  onlineManager,
  type Query,
  QueryCache,
  QueryClient,
} from '@tanstack/react-query';
import type { OperationTypes } from '../generated/examples.gen.ts';
import type {
  BlockUserData,
  DeleteMessageData,
  LeaveSpaceData,
  Message,
  Participation,
  Session,
} from '../generated/types.gen.ts';
import { ApiError } from './errors.ts';
import { dropMessage, listsOf, markBlocked, putMessage, readKey } from './message-cache.ts';
import { dropParticipation, followedList, putParticipation } from './participation-cache.ts';
import { retryDelay } from './retries.ts';
import type { SessionStore } from './session.ts';
import { setSession } from './session-hooks.ts';

export * from '../generated/@tanstack/react-query.gen.ts';
export { type ConversationOptions, useConversation } from './conversation-hook.ts';
export type { LiveOptions } from './following-hook.ts';
export { dropMessage, putMessage } from './message-cache.ts';
export {
  type MessageOptions,
  type UnsentMessage,
  useAppreciation,
  useLiveMessages,
  useMessageDeletion,
  useMessageEdit,
  useUnsentMessages,
} from './message-hooks.ts';
export {
  type ParticipationOptions,
  useParticipation,
  useParticipations,
} from './participation-hooks.ts';
export { type ReadingOptions, useReadPosition } from './reading-hook.ts';
export { useSessionStatus, useUserId } from './session-hooks.ts';
export { useSecondsToWait } from './waiting-hook.ts';

/** A longer wait is an error at once, so that people see how long it is. */
const MAX_SILENT_WAIT_SECONDS = 3;

const MAX_RETRIES = 2;

/** Queries that were loaded a moment ago are not loaded again, for example by the next view. */
const STALE_TIME_MS = 5_000;

export interface QueryClientOptions {
  /**
   * What `createSession` returns. It starts with a successful `login` or `register` and ends with `logout` and
   * `deleteAccount`. When another user follows, the cache is cleared.
   */
  session?: SessionStore | undefined;
  /** Called when the session has expired, also in another tab. Without a session, called after each 401 of a token. */
  onUnauthenticated?: (() => void) | undefined;
  /** By default 5,000 ms. */
  staleTime?: number | undefined;
  /**
   * By default `always`: requests are sent even if the browser believes to be offline. They fail at once instead of
   * loading until it is online, and queries are loaded again then.
   */
  networkMode?: NetworkMode | undefined;
}

/**
 * Creates a QueryClient.
 *
 * - It repeats queries after temporary errors. If `Retry-After` is longer than three seconds, the error is visible at
 *   once: `useSecondsToWait` counts down.
 * - After a mutation, it reloads stale queries in the background. In infinite lists of messages, and in what
 *   `useParticipations` follows, it replaces the items, because loading all their pages again takes many requests.
 * - It keeps the session, if there is one.
 */
export function createQueryClient(options: QueryClientOptions = {}): QueryClient {
  const { session, onUnauthenticated, staleTime = STALE_TIME_MS, networkMode = 'always' } = options;
  const onError = (error: unknown) => {
    if (!session && error instanceof ApiError && error.code === 'unauthenticated')
      onUnauthenticated?.();
  };
  const queryClient: QueryClient = new QueryClient({
    defaultOptions: {
      queries: {
        networkMode,
        staleTime,
        refetchOnReconnect: true,
        retry: (failures, error) => failures < MAX_RETRIES && isWorthRepeating(error),
        retryDelay: (failures, error) => retryDelay(failures, error as ApiError),
      },
      mutations: { networkMode },
    },
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({
      onError,
      onSuccess: (data, variables, _result, { mutationId, meta }) => {
        const mutations = queryClient.getMutationCache().getAll();
        // It is that of an earlier user, because the cache has been cleared.
        if (!mutations.some((each) => each.mutationId === mutationId)) return;
        const operation = meta?.operation as Change | undefined;
        if (session && startsSession(operation)) session.start(data as Session);
        if (session && endsSession(operation)) session.end();
        changeLists(queryClient, operation, data, variables);
        if (STALE_AFTER[operation as Change] !== 'all') void invalidateAfter(queryClient, { meta });
      },
      // The last callback, so that the application can store the new token before.
      onSettled: (_data, error, _variables, _result, { meta }) => {
        if (error || session) return;
        if (endsSession(meta?.operation)) queryClient.clear();
        if (startsSession(meta?.operation)) void queryClient.resetQueries();
      },
    }),
  });
  if (session) connect(session, queryClient, onUnauthenticated);
  return queryClient;
}

function isWorthRepeating(error: unknown): boolean {
  if (!(error instanceof ApiError) || !error.isTemporary) return false;
  if (error.status === null) return onlineManager.isOnline();
  return (error.retryAfter ?? 0) <= MAX_SILENT_WAIT_SECONDS;
}

function startsSession(operation: unknown): boolean {
  return operation === 'login' || operation === 'register';
}

function endsSession(operation: unknown): boolean {
  return operation === 'logout' || operation === 'deleteAccount';
}

/** Clears the cache when the user changes. When the same user has signed in again, loads everything again. */
function connect(
  session: SessionStore,
  queryClient: QueryClient,
  onExpired: (() => void) | undefined,
): void {
  setSession(queryClient, session);
  let userId = session.userId();
  let status = session.status();
  session.subscribe(() => {
    const isSameUser = userId === session.userId();
    const before = status;
    userId = session.userId();
    status = session.status();
    if (!isSameUser) queryClient.clear();
    else if (before === 'expired' && status === 'signed-in') void queryClient.invalidateQueries();
    if (before === 'signed-in' && status === 'expired') onExpired?.();
  });
}

/** Applies what a mutation has changed to the lists that are not loaded again. */
function changeLists(
  queryClient: QueryClient,
  operation: Change | undefined,
  data: unknown,
  variables: unknown,
): void {
  switch (operation) {
    case 'sendMessage':
    case 'editMessage':
    case 'appreciateMessage':
    case 'withdrawAppreciation':
      putMessage(queryClient, data as Message);
      break;
    case 'deleteMessage':
      dropMessage(queryClient, (variables as DeleteMessageData).path);
      break;
    case 'blockUser':
    case 'unblockUser':
      markBlocked(
        queryClient,
        (variables as BlockUserData).path.user_id,
        operation === 'blockUser',
      );
      break;
    case 'joinSpace':
    case 'updateParticipation':
      putParticipation(queryClient, data as Participation);
      break;
    case 'leaveSpace':
    case 'deleteSpace':
      dropParticipation(queryClient, (variables as LeaveSpaceData).path.space_id);
      break;
  }
}

type OperationsWith<Method> = {
  [O in keyof OperationTypes]: OperationTypes[O]['method'] extends Method ? O : never;
}[keyof OperationTypes];
type Read = OperationsWith<'GET'>;
type Change = Exclude<keyof OperationTypes, Read>;

const SEARCHES = [
  'listSpaces',
  'listTags',
  'listUserSpaces',
  'searchSpaces',
  'searchSpacesByTag',
] as const;
const SPACES = [...SEARCHES, 'getSpace', 'listParticipations'] as const;
const PARTICIPATION = ['getParticipation', 'listParticipations'] as const;
const PARTICIPANTS = [...SPACES, 'getParticipation', 'listParticipants', 'listRemovals'] as const;
const MESSAGES = ['listMessages', 'getMessage'] as const;
const BLOCKED = ['getUser', 'listBlocks', ...MESSAGES, ...PARTICIPATION] as const;
const AUTHORS = [
  'getProfile',
  'getUser',
  'findUsers',
  ...SPACES,
  'listParticipants',
  'listAppreciations',
  ...MESSAGES,
] as const;

/**
 * The queries that a successful mutation makes stale, by their operations. A change of the session makes all of them
 * stale. Statistics are computed at request time, so `getProfile` is stale after most mutations.
 */
export const STALE_AFTER: Readonly<Record<Change, readonly Read[] | 'all'>> = {
  register: 'all',
  login: 'all',
  logout: 'all',
  deleteAccount: 'all',
  resetPassword: 'all',
  requestPasswordReset: [],
  requestEmailVerification: [],
  changeEmail: [],
  verifyEmail: ['getProfile'],
  endSession: ['listSessions'],
  createToken: ['listTokens'],
  revokeToken: ['listTokens'],
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
  appointModerator: ['listParticipants'],
  dismissModerator: [...PARTICIPANTS, 'listReports'],
  removeParticipant: PARTICIPANTS,
  undoRemoval: PARTICIPANTS,
  updateParticipation: PARTICIPATION,
  markRead: PARTICIPATION,
  sendMessage: [...MESSAGES, ...PARTICIPATION, 'getProfile'],
  editMessage: [...MESSAGES, ...PARTICIPATION, 'getProfile', 'listReports'],
  deleteMessage: [...MESSAGES, ...PARTICIPATION, 'getProfile', 'listReports'],
  appreciateMessage: [...MESSAGES, 'listAppreciations'],
  withdrawAppreciation: [...MESSAGES, 'listAppreciations'],
  blockUser: BLOCKED,
  unblockUser: BLOCKED,
  reportSpace: ['listReports'],
  reportMessage: ['listReports'],
  reportUser: [],
  withdrawSpaceReport: ['listReports'],
  withdrawMessageReport: ['listReports'],
  withdrawUserReport: [],
};

/**
 * Invalidates the queries that a mutation makes stale, and resolves when the active ones are fetched again. Infinite lists
 * of messages are fetched again only when they are shown the next time, and what `useParticipations` follows is not.
 * @param mutation one with generated options, which have the name of its operation in `meta`
 */
export async function invalidateAfter(
  queryClient: QueryClient,
  { meta }: Pick<Mutation<unknown, Error, never>, 'meta'>,
): Promise<void> {
  const stale: readonly string[] | 'all' = STALE_AFTER[meta?.operation as Change] ?? [];
  const isStale = (query: Query) =>
    stale === 'all' ||
    (stale.includes(readKey(query.queryKey)._id ?? '') && !followedList.predicate?.(query));
  const { predicate: isList } = listsOf(undefined);
  await queryClient.invalidateQueries({ predicate: isStale, refetchType: 'none' });
  await queryClient.refetchQueries({
    type: 'active',
    predicate: (query) => isStale(query) && !isList?.(query),
  });
}
