import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Space, SpaceCreation, SpaceUpdate } from '../../generated/types.gen.ts';
import { claimKey, type KeyClaim } from '../accounts/idempotency-keys.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession, requireUser } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database, Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import type { NewRow } from '../database/schema.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import type { AvatarResources, QuotaResources, ResourceState } from '../resources.ts';
import { writerOf } from '../search/writer-of.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { describeSpace, stateOf } from './describe-spaces.ts';
import { invitationCodeFor, newInvitationCode } from './invitation-codes.ts';
import { type FoundSpace, findSpace, findSpaceFor } from './space-access.ts';
import { assertParticipationQuota, assertSpaceQuota, assertTagQuota } from './space-quotas.ts';
import { parseDescription, parseTitle } from './space-text.ts';
import { listSubject, spaceSubject } from './subjects.ts';
import { addTags, deleteUnusedTags, parseTags, setTags, type TagName } from './tags.ts';

/** A space, and the state in which it has been read. */
export interface SpaceInState {
  state: ResourceState;
  space: Space;
}

/**
 * Creates a space with the caller as its first participant.
 * @param claim the idempotency key of the request, if it has one
 * @throws DomainError `invalid_request`, `quota_exceeded`, `too_many_requests`
 */
export async function createSpace(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  creation: SpaceCreation,
  claim: KeyClaim | null,
): Promise<SpaceInState> {
  const title = parseTitle(creation.title);
  const description = parseDescription(creation.description);
  const tags = parseTags(creation.tags);
  const space = {
    space_id: randomUUID(),
    title,
    description,
    visibility: creation.visibility,
    posting: creation.posting ?? 'participants',
    invitation_code: invitationCodeFor(creation.visibility),
    participant_count: 1,
    created_at: new Date().toISOString(),
  };
  return transact(engine, async (trx) => {
    const creator = await requireUser(trx, caller);
    await claimKey(trx, caller.userPk, claim, space.space_id);
    await countOperation(trx, quotas, caller, 'createSpace');
    const spaceCount = await assertSpaceQuota(trx, quotas, caller);
    await assertParticipationQuota(trx, quotas, caller);
    // Before the tags are added. On PostgreSQL, reading new rows conflicts with other creations.
    if (tags.length > 0) await assertTagQuota(trx, quotas, caller, tags.length, spaceCount);
    const changed_in = await engine.transactionNumber(trx);
    const row = { ...space, creator_pk: caller.userPk, changed_in } satisfies NewRow<'spaces'>;
    const { pk, version } = await trx
      .insertInto('spaces')
      .values(row)
      .returning(['pk', 'version'])
      .executeTakeFirstOrThrow();
    await trx
      .insertInto('participations')
      .values({
        space_pk: pk,
        user_pk: caller.userPk,
        joined_at: space.created_at,
        left_at: null,
        removed_at: null,
        removed_by_pk: null,
        read_until: null,
        is_moderator: 0,
        is_muted: 0,
        changed_in,
      } satisfies NewRow<'participations'>)
      .execute();
    announceAfterCommit(engine, listSubject(caller.userPk));
    const spaceTags = await addTags(trx, pk, tags);
    if (space.visibility === 'public') {
      await writerOf(engine).indexNewSpace(trx, { pk, ...row, tags: spaceTags });
    }
    // Not read back, because on PostgreSQL that conflicts with other transactions that create spaces.
    const found = {
      version,
      role: 'creator' as const,
      participantCount: space.participant_count,
      creatorName: creator.username,
      creatorAvatar: creator.avatar,
      joinedAt: space.created_at,
    };
    return {
      state: stateOf(avatars, found),
      space: {
        ...space,
        creator: summarizeUser(avatars, creator),
        tags: spaceTags,
        participation: { joined_at: space.created_at, role: 'creator' },
      },
    };
  });
}

/**
 * Returns a space that the caller may see.
 * @throws DomainError `space_not_found`
 */
export async function readSpace(
  resources: AvatarResources,
  caller: Caller | null,
  spaceId: string,
): Promise<SpaceInState> {
  const { state, read } = await locateSpace(resources, caller, spaceId);
  return { state, space: await read() };
}

/**
 * Returns the state of a space that the caller may see, and a function that returns the space. It is in this state or a
 * later one.
 * @throws DomainError `space_not_found`, also from the function
 */
export async function locateSpace(
  { engine, avatars }: AvatarResources,
  caller: Caller | null,
  spaceId: string,
): Promise<{ state: ResourceState; read: () => Promise<Space> }> {
  const found = await findSpace(engine.db, caller, spaceId);
  return {
    state: stateOf(avatars, found),
    read: () => describeSpace(engine.db, avatars, found.pk, caller),
  };
}

/**
 * Changes the given fields of a space that the caller created. Leaves it in its state if none of them differs.
 * @param isExpected whether the caller wants to change a space in this state
 * @param claim the idempotency key of the request, if it has one
 * @throws DomainError `space_not_found`, `not_space_creator`, `precondition_failed`, `invalid_request`,
 *   `space_cannot_become_public`, `quota_exceeded`, `too_many_requests`
 */
export async function updateSpace(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  spaceId: string,
  update: SpaceUpdate,
  isExpected: (state: ResourceState) => boolean,
  claim: KeyClaim | null,
): Promise<SpaceInState> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await claimKey(trx, caller.userPk, claim, spaceId);
    await countOperation(trx, quotas, caller, 'updateSpace');
    const found = await findSpaceFor(trx, caller, spaceId, 'manageSpace');
    const { pk } = found;
    const state = stateOf(avatars, found);
    if (!isExpected(state)) {
      throw new DomainError(
        'precondition_failed',
        'The space has been changed since you read it. Read it again, and repeat your change.',
      );
    }
    const space = await describeSpace(trx, avatars, pk, caller);
    const changes = changesOf(space, update);
    if (Object.values(changes).every((each) => each === undefined)) return { state, space };
    await updateRow(engine, trx, found, changes);
    let formerTags: number[] = [];
    if (changes.tags) {
      formerTags = await setTags(trx, pk, changes.tags);
      // An imported account that has more tags can still remove some.
      if (changes.tags.length > formerTags.length) await assertTagQuota(trx, quotas, caller);
    }
    await writerOf(engine).indexSpaces(trx, [pk]);
    // After `indexSpaces`, because the index referred to the former tags until then.
    await deleteUnusedTags(trx, formerTags);
    announceAfterCommit(engine, spaceSubject(spaceId));
    return readChanged(trx, avatars, caller, spaceId);
  });
}

/** The new value of each field, undefined if it does not change. */
type SpaceChanges = {
  [Field in keyof Required<SpaceUpdate>]:
    | (Field extends 'tags' ? TagName[] : SpaceUpdate[Field])
    | undefined;
};

/**
 * Returns the fields in which an update differs from a space.
 * @throws DomainError `invalid_request`
 */
function changesOf(space: Space, update: SpaceUpdate): SpaceChanges {
  const { title, description, visibility, posting } = update;
  const tags = update.tags && parseTags(update.tags);
  const isSame = (tag: TagName, i: number) => tag.name === space.tags[i]?.tag_name;
  const hasSameTags = tags?.length === space.tags.length && tags.every(isSame);
  return {
    title: changeOf(space.title, title, parseTitle),
    description: changeOf(space.description, description, parseDescription),
    visibility: changeOf(space.visibility, visibility),
    posting: changeOf(space.posting, posting),
    tags: hasSameTags ? undefined : tags,
  };
}

function changeOf<T>(
  current: unknown,
  update: T | undefined,
  parse = (value: T): T => value,
): T | undefined {
  const value = update === undefined ? undefined : parse(update);
  return value === current ? undefined : value;
}

/** Reads a space that the transaction has changed. */
async function readChanged(
  trx: Database,
  avatars: AvatarUrls,
  caller: Caller,
  spaceId: string,
): Promise<SpaceInState> {
  const found = await findSpaceFor(trx, caller, spaceId, 'manageSpace');
  const space = await describeSpace(trx, avatars, found.pk, caller);
  return { state: stateOf(avatars, found), space };
}

const nextVersion = sql<number>`version + 1`;

async function updateRow(
  engine: Engine,
  trx: Database,
  space: FoundSpace,
  { tags: _, ...changes }: SpaceChanges,
): Promise<void> {
  const { visibility } = changes;
  if (visibility === 'public') await assertPublishable(trx, space);
  const code = visibility && { invitation_code: invitationCodeFor(visibility) };
  const changed_in = await engine.transactionNumber(trx);
  await trx
    .updateTable('spaces')
    .set({ ...changes, ...code, version: nextVersion, changed_in })
    .where('pk', '=', space.pk)
    .execute();
}

/**
 * Rejects the publication of messages that other users have written in private, even if they have left.
 * @throws DomainError `space_cannot_become_public`
 */
async function assertPublishable(trx: Database, { pk, creatorPk }: FoundSpace): Promise<void> {
  const message = await trx
    .selectFrom('messages')
    .select('pk')
    .where('space_pk', '=', pk)
    .where('author_pk', '!=', creatorPk)
    .where(isLiveUser('author_pk'))
    .executeTakeFirst();
  if (!message) return;
  throw new DomainError(
    'space_cannot_become_public',
    'Other users have written messages in this private space, so it cannot become public. Create a public space instead.',
    [{ pointer: '/visibility', message: 'cannot become public' }],
  );
}

/**
 * Replaces the invitation code of a private space that the caller created.
 * @param claim the idempotency key of the request, if it has one
 * @throws DomainError `space_not_found`, `not_space_creator`, `space_is_public`, `too_many_requests`
 */
export async function renewInvitationCode(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  spaceId: string,
  claim: KeyClaim | null,
): Promise<SpaceInState> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await claimKey(trx, caller.userPk, claim, spaceId);
    await countOperation(trx, quotas, caller, 'renewInvitationCode');
    const { pk, visibility } = await findSpaceFor(trx, caller, spaceId, 'manageSpace');
    if (visibility === 'public') {
      throw new DomainError(
        'space_is_public',
        'This space is public, so it has no invitation code. Anyone can join it.',
      );
    }
    const changed_in = await engine.transactionNumber(trx);
    await trx
      .updateTable('spaces')
      .set({ invitation_code: newInvitationCode(), version: nextVersion, changed_in })
      .where('pk', '=', pk)
      .execute();
    announceAfterCommit(engine, spaceSubject(spaceId));
    return readChanged(trx, avatars, caller, spaceId);
  });
}
