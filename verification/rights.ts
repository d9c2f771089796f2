import { operations } from './contract.ts';
import type { OperationId } from './scenarios/caller.ts';

/** Everyone who can call an operation on a space or a message in it. */
export const CALLERS = [
  'anonymous',
  'stranger',
  'former',
  'removed',
  'participant',
  'moderator',
  'creator',
] as const;
export type CallerName = (typeof CALLERS)[number];

export const VISIBILITIES = ['public', 'private'] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/** Who may call an operation on a space or a message: everyone who can see the space, with these exceptions. */
interface Rule {
  operation: OperationId;
  /** What it is called on, if that makes a difference. */
  on?: Target;
  /** The code of the error, by caller. */
  refused?: Refusals;
  /** In addition, in spaces of this visibility. */
  public?: Refusals;
  private?: Refusals;
  /** Who may call it, but changes nothing, although others or other calls do. */
  idle?: readonly CallerName[];
}

/** A user, a message or a space. Users who are not the caller are others with the same role, but for the creator. */
export type Target =
  | 'caller'
  | 'creator'
  | 'moderator'
  | 'participant'
  | 'former participant'
  | 'removed user'
  | 'message of the creator'
  | 'message of a moderator'
  | 'message of a participant'
  | 'own message'
  | 'own message in a read-only space'
  | 'read-only space';

type Refusals = Partial<Record<CallerName, string>>;

/** Returns the refusal of several callers. */
function refuse(code: string, ...callers: CallerName[]): Refusals {
  return Object.fromEntries(callers.map((caller) => [caller, code]));
}

const OUTSIDERS = ['stranger', 'former', 'removed'] as const;
const notCreator = refuse('not_space_creator', ...OUTSIDERS, 'participant', 'moderator');
const notAppointable: Refusals = { ...notCreator, creator: 'participant_not_found' };
const notModerator = refuse('not_space_moderator', ...OUTSIDERS, 'participant');
const notParticipant = refuse('not_a_participant', ...OUTSIDERS);
const notParticipating = refuse('participation_not_found', ...OUTSIDERS);
const notAuthor = refuse('not_message_author', ...OUTSIDERS, 'participant');

export const rules: readonly Rule[] = [
  { operation: 'getSpace' },
  { operation: 'updateSpace', refused: notCreator },
  {
    operation: 'renewInvitationCode',
    refused: notCreator,
    public: { creator: 'space_is_public' },
  },
  { operation: 'deleteSpace', refused: notCreator },
  // Without an invitation code.
  { operation: 'joinSpace', refused: { removed: 'removed_from_space' } },
  { operation: 'leaveSpace', refused: { creator: 'creator_cannot_leave' } },
  { operation: 'getParticipation', refused: notParticipating, private: notParticipating },
  { operation: 'updateParticipation', refused: notParticipating, private: notParticipating },
  { operation: 'markRead', refused: notParticipant },
  { operation: 'listParticipants' },
  { operation: 'appointModerator', on: 'participant', refused: notCreator },
  { operation: 'appointModerator', on: 'moderator', refused: notCreator, idle: ['creator'] },
  { operation: 'appointModerator', on: 'creator', refused: notCreator, idle: ['creator'] },
  { operation: 'appointModerator', on: 'former participant', refused: notAppointable },
  { operation: 'appointModerator', on: 'removed user', refused: notAppointable },
  { operation: 'dismissModerator', on: 'moderator', refused: notCreator },
  { operation: 'dismissModerator', on: 'participant', refused: notCreator, idle: ['creator'] },
  { operation: 'dismissModerator', on: 'creator', refused: notCreator, idle: ['creator'] },
  // Moderators can resign, and repeat the request if its response is lost.
  {
    operation: 'dismissModerator',
    on: 'caller',
    refused: refuse('not_space_creator', ...OUTSIDERS),
    idle: ['participant', 'creator'],
  },
  { operation: 'listRemovals', refused: notModerator },
  { operation: 'removeParticipant', on: 'participant', refused: notModerator },
  { operation: 'removeParticipant', on: 'former participant', refused: notModerator },
  {
    operation: 'removeParticipant',
    on: 'removed user',
    refused: notModerator,
    idle: ['moderator', 'creator'],
  },
  {
    operation: 'removeParticipant',
    on: 'moderator',
    refused: { ...notModerator, moderator: 'not_space_creator' },
  },
  {
    operation: 'removeParticipant',
    on: 'creator',
    refused: { ...notModerator, ...refuse('creator_cannot_leave', 'moderator', 'creator') },
  },
  {
    operation: 'removeParticipant',
    on: 'caller',
    refused: { ...notModerator, moderator: 'not_space_creator', creator: 'creator_cannot_leave' },
  },
  { operation: 'undoRemoval', on: 'removed user', refused: notModerator },
  {
    operation: 'undoRemoval',
    on: 'participant',
    refused: notModerator,
    idle: ['moderator', 'creator'],
  },
  { operation: 'listMessages' },
  { operation: 'sendMessage', refused: notParticipant },
  {
    operation: 'sendMessage',
    on: 'read-only space',
    refused: { ...notParticipant, participant: 'space_is_read_only' },
  },
  { operation: 'getMessage' },
  { operation: 'editMessage', on: 'own message', ...ofAuthor('not_a_participant') },
  {
    operation: 'editMessage',
    on: 'own message in a read-only space',
    ...ofAuthor('not_a_participant', { participant: 'space_is_read_only' }),
  },
  {
    operation: 'editMessage',
    on: 'message of the creator',
    refused: { ...notAuthor, moderator: 'not_message_author' },
  },
  { operation: 'deleteMessage', on: 'own message', ...ofAuthor() },
  { operation: 'deleteMessage', on: 'message of the creator', refused: notAuthor },
  { operation: 'deleteMessage', on: 'message of a moderator', refused: notAuthor },
  { operation: 'deleteMessage', on: 'message of a participant', refused: notAuthor },
  {
    operation: 'appreciateMessage',
    on: 'message of the creator',
    refused: { creator: 'own_message' },
  },
  { operation: 'withdrawAppreciation' },
  { operation: 'listAppreciations' },
  { operation: 'listReports', refused: notModerator },
  { operation: 'reportSpace' },
  { operation: 'withdrawSpaceReport', private: refuse('ok', ...OUTSIDERS) },
  { operation: 'reportMessage' },
  { operation: 'withdrawMessageReport', private: refuse('ok', ...OUTSIDERS) },
];

/** Returns the refusals of authors, who find their own messages even in a private space that they have left. */
function ofAuthor(code?: string, others: Refusals = {}): Pick<Rule, 'refused' | 'private'> {
  const refused = code === undefined ? {} : { ...refuse(code, 'former', 'removed'), ...others };
  return { refused, private: { former: 'ok', removed: 'ok', ...refused } };
}

/**
 * Returns the outcome of a call: `ok`, or the code of the error. Undefined if the caller cannot have such a message.
 */
export function outcomeOf(
  rule: Rule,
  caller: CallerName,
  visibility: Visibility,
): string | undefined {
  const operation = operations.find(({ operationId }) => operationId === rule.operation);
  if (caller === 'anonymous' && operation?.authentication === 'required') return 'unauthenticated';
  if (rule.on?.startsWith('own message') && (caller === 'anonymous' || caller === 'stranger')) {
    return undefined;
  }
  const own = rule[visibility]?.[caller];
  if (own !== undefined) return own;
  const isOutside = caller === 'anonymous' || OUTSIDERS.some((each) => each === caller);
  if (visibility === 'private' && isOutside) {
    return operation?.path.includes('{message_id}') ? 'message_not_found' : 'space_not_found';
  }
  return rule.refused?.[caller] ?? 'ok';
}
