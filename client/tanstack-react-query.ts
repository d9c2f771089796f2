import { type Mutation, MutationCache, QueryClient } from '@tanstack/react-query';
import type { OperationTypes } from '../generated/examples.gen.ts';
import { ApiError } from './errors.ts';
import { readKey } from './message-cache.ts';

export * from '../generated/@tanstack/react-query.gen.ts';
export { dropMessage, putMessage } from './message-cache.ts';
export {
  type MessageOptions,
  type UnsentMessage,
  useAppreciation,
  useLiveMessages,
  useMessageDeletion,
  useUnsentMessages,
} from './message-hooks.ts';

const MAX_RETRIES = 2;

/**
 * Creates a QueryClient. It repeats queries after temporary errors, when `Retry-After` says, and invalidates the queries
 * that a mutation makes stale.
 */
export function createQueryClient(): QueryClient {
  const queryClient: QueryClient = new QueryClient({
    defaultOptions: {
      queries: {
        retry: (failures, error) =>
          failures < MAX_RETRIES && error instanceof ApiError && error.isTemporary,
        retryDelay: (failures, error) => {
          const seconds = error instanceof ApiError ? error.retryAfter : null;
          return 1000 * (seconds ?? 2 ** failures);
        },
      },
    },
    mutationCache: new MutationCache({
      onSuccess: (_data, _variables, _result, mutation) => invalidateAfter(queryClient, mutation),
    }),
  });
  return queryClient;
}

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
