export { type Client, createConfig } from '../generated/client/index.ts';
export { client } from '../generated/client.gen.ts';
export * from '../generated/index.ts';
export {
  type OperationProblemCodes,
  PROBLEM_STATUSES,
  type ProblemCode,
} from '../generated/problem-codes.gen.ts';
export { createClient, withApiErrors } from './api-errors.ts';
export { ApiError, fieldErrors, SearchError, SessionChangedError } from './errors.ts';
export {
  type FollowListOptions,
  type FollowOptions,
  followMessages,
  followParticipations,
  type ParticipationEvents,
  type SpaceEvents,
} from './following.ts';
export type { AccessToken, ApiOptions } from './http.ts';
export {
  createSpace,
  editMessage,
  renewInvitationCode,
  sendMessage,
  updateSpace,
} from './keyed-writes.ts';
export { pages } from './pages.ts';
export { type AvatarFile, ProfileAPI } from './profile.ts';
export {
  type CombinedSearchResults,
  SearchAPI,
  type SearchOptions,
  type SearchPageOptions,
} from './search.ts';
export {
  createSession,
  type SessionOptions,
  type SessionStatus,
  type SessionStore,
} from './session.ts';
export { fetchWithProgress } from './upload-progress.ts';
