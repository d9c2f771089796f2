import { type RawBuilder, sql } from 'kysely';
import type { Posting, Visibility } from '../../generated/types.gen.ts';
import { type Caller, hasScope, requireScope } from '../auth/sessions.ts';
import { DomainError } from '../errors.ts';

// Who may do what in a space and with its messages. Everything that reads or changes them asks here. `docs/rights.md` is
// the resulting table.

/** What a current participant is in a space. */
export type Role = 'creator' | 'moderator' | 'participant';

/**
 * SQL for the role of the user of a row of `participations` in the space of a row of `spaces`. Null for a former
 * participant, and without a row of `participations`.
 */
export const participantRole = sql<Role | null>`CASE
  WHEN participations.user_pk IS NULL OR participations.left_at IS NOT NULL THEN NULL
  WHEN participations.user_pk = spaces.creator_pk THEN 'creator'
  WHEN participations.is_moderator = 1 THEN 'moderator'
  ELSE 'participant'
END`;

/** Rights in a space that a caller may see: the roles that have each of them, and the error for everyone else. */
const rights = {
  manageSpace: {
    roles: ['creator'],
    code: 'not_space_creator',
    detail: 'Only the creator of the space can do this.',
  },
  moderate: {
    roles: ['creator', 'moderator'],
    code: 'not_space_moderator',
    detail: 'Only the creator and the moderators of the space can do this.',
  },
  removeModerators: {
    roles: ['creator'],
    code: 'not_space_creator',
    detail: 'Only the creator of the space can remove its moderators.',
  },
  sendMessages: {
    roles: ['creator', 'moderator', 'participant'],
    code: 'not_a_participant',
    detail: 'Only participants can send messages. Join the space first.',
  },
  writeInReadOnlySpaces: {
    roles: ['creator', 'moderator'],
    code: 'space_is_read_only',
    detail: 'Only the creator and the moderators can write in this space.',
  },
  editOwnMessages: {
    roles: ['creator', 'moderator', 'participant'],
    code: 'not_a_participant',
    detail: 'Only participants can edit their messages.',
  },
  markRead: {
    roles: ['creator', 'moderator', 'participant'],
    code: 'not_a_participant',
    detail: 'Only participants can mark messages as read. Join the space first.',
  },
  deleteMessagesOfOthers: {
    roles: ['creator', 'moderator'],
    code: 'not_message_author',
    detail: 'Only its author and the creator and moderators of the space can delete a message.',
  },
} as const satisfies Record<
  string,
  { roles: readonly Role[]; code: DomainError['code']; detail: string }
>;

export type Right = keyof typeof rights;

/** Whether someone has a right. */
export function hasRight({ role }: { role: Role | null }, right: Right): boolean {
  const roles: readonly (Role | null)[] = rights[right].roles;
  return roles.includes(role);
}

/**
 * @throws DomainError `not_space_creator`, `not_space_moderator`, `not_a_participant`, `space_is_read_only`,
 *   `not_message_author`
 */
export function requireRight(member: { role: Role | null }, right: Right): void {
  if (hasRight(member, right)) return;
  const { code, detail } = rights[right];
  throw new DomainError(code, detail);
}

/** @throws DomainError `space_is_read_only` */
export function requireWritable(space: { role: Role | null; posting: Posting }): void {
  if (space.posting === 'moderators') requireRight(space, 'writeInReadOnlySpaces');
}

/**
 * Asserts that someone may become a participant of a space.
 * @param removedAt when someone has been removed from the space; null if they have not
 * @param notFound returns the error for an invitation code that a private space does not have
 * @throws DomainError `removed_from_space`, and that of `notFound`
 */
export function requireJoinable(
  space: { visibility: Visibility; invitationCode: string | null },
  removedAt: string | null,
  invitationCode: string | undefined,
  notFound: () => DomainError,
): void {
  if (space.visibility === 'private' && space.invitationCode !== invitationCode) throw notFound();
  if (removedAt === null) return;
  throw new DomainError(
    'removed_from_space',
    'You have been removed from this space. You can join again only if its creator or a moderator undoes it.',
  );
}

/** @throws DomainError `creator_cannot_leave` */
export function requireLeavable({ role }: { role: Role | null }): void {
  if (role !== 'creator') return;
  throw new DomainError(
    'creator_cannot_leave',
    'You created this space, so you cannot leave it. You can delete it.',
  );
}

/**
 * Asserts that someone who may moderate a space may remove a user from it.
 * @throws DomainError `creator_cannot_leave`, `not_space_creator`
 */
export function requireRemovable(
  user: { role: Role | null },
  moderator: { role: Role | null },
): void {
  if (user.role === 'creator') {
    throw new DomainError(
      'creator_cannot_leave',
      'The creator of a space cannot be removed from it.',
    );
  }
  if (user.role === 'moderator') requireRight(moderator, 'removeModerators');
}

/** Whether someone with a role may read the invitation code of a space. It admits others for good. */
export function mayInvite(member: { role: Role | null }, caller: Caller | null): boolean {
  return caller !== null && hasRight(member, 'manageSpace') && hasScope(caller, 'moderate');
}

/**
 * Asserts that a user may become a moderator of a space.
 * @throws DomainError `participant_not_found`
 */
export function requireAppointable<User>(
  participant: User | undefined,
): asserts participant is User {
  if (participant) return;
  throw new DomainError(
    'participant_not_found',
    'There is no such user, or the user does not participate in the space.',
  );
}

/**
 * Asserts that someone may dismiss a user as a moderator of a space: its creator may, and moderators may resign.
 * @throws DomainError `not_space_creator`
 */
export function requireDismissible(
  user: { user_pk: number; role: Role } | undefined,
  space: { role: Role | null },
  caller: Caller,
): void {
  const isOneself = user?.user_pk === caller.userPk;
  if (!isOneself) requireRight(space, 'manageSpace');
}

/** A message, and the role of the caller in its space. */
interface OwnedMessage {
  authorPk: number;
  role: Role | null;
}

/** @throws DomainError `not_message_author`, `insufficient_scope` */
export function requireDeletable(message: OwnedMessage, caller: Caller): void {
  if (message.authorPk === caller.userPk) return;
  requireRight(message, 'deleteMessagesOfOthers');
  requireScope(caller, 'moderate');
}

/** @throws DomainError `not_message_author`, `not_a_participant` */
export function requireEditable(message: OwnedMessage, { userPk }: Caller): void {
  if (message.authorPk !== userPk) {
    throw new DomainError('not_message_author', 'Only the author can edit a message.');
  }
  requireRight(message, 'editOwnMessages');
}

/** @throws DomainError `own_message` */
export function requireAppreciable({ authorPk }: OwnedMessage, { userPk }: Caller): void {
  if (authorPk !== userPk) return;
  throw new DomainError('own_message', 'You cannot appreciate your own message.');
}

/**
 * SQL condition: a user may see the space with this key. Everyone may see a public space, and its participants a private
 * one. The spaces of suspended creators are hidden from everyone.
 *
 * Queries of a space's content outside of transactions need this condition in addition to `findSpace`. In between,
 * the space can become private, or its creator can remove the caller or be suspended. Later content must not be
 * returned.
 * @param userPk see `callerPk`
 */
export function isVisible(
  userPk: RawBuilder<number> | number,
  spacePk: RawBuilder<number> | number,
): RawBuilder<boolean> {
  return sql<boolean>`EXISTS (
    SELECT 1 FROM spaces AS visible JOIN users AS creators ON creators.pk = visible.creator_pk
    WHERE visible.pk = ${spacePk} AND creators.suspended_at IS NULL AND (visible.visibility = 'public' OR EXISTS (
      SELECT 1 FROM participations
      WHERE participations.space_pk = ${spacePk} AND participations.user_pk = ${userPk}
        AND participations.left_at IS NULL
    ))
  )`;
}

/** Like `isVisible`, for a caller. */
export function isVisibleTo(
  caller: Caller | null,
  spacePk: RawBuilder<number> | number,
): RawBuilder<boolean> {
  return isVisible(callerPk(caller), spacePk);
}

/**
 * SQL condition: a caller has a right in the space with this key, and may see it. Needed like `isVisible` for content that
 * only those with the right may see, because the caller can lose it during the request.
 */
export function hasRightIn({ userPk }: Caller, spacePk: number, right: Right): RawBuilder<boolean> {
  return sql<boolean>`(${isVisible(userPk, spacePk)} AND EXISTS (
    SELECT 1 FROM participations JOIN spaces ON spaces.pk = participations.space_pk
    WHERE participations.space_pk = ${spacePk} AND participations.user_pk = ${userPk}
      AND ${participantRole} IN (${sql.join([...rights[right].roles])})
  ))`;
}

/** SQL condition on `messages`: a caller has written the message, or may see its space. */
export function isFoundBy(caller: Caller): RawBuilder<boolean> {
  return sql<boolean>`(messages.author_pk = ${caller.userPk}
    OR ${isVisibleTo(caller, sql.ref('messages.space_pk'))})`;
}

/** Returns the `pk` of the caller; 0 without a caller, because no user has it. */
export function callerPk(caller: Caller | null): number {
  return caller?.userPk ?? 0;
}
