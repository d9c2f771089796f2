import { randomBytes, randomUUID } from 'node:crypto';
import type { Space, SpaceCreation, SpaceUpdate } from '../../generated/types.gen.ts';
import { countAction } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { transact, transactOnIndex } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { indexSpace } from '../search/documents.ts';
import type { Stores, WriteResources } from '../stores.ts';
import {
  CONTROLS_AND_LINE_SEPARATORS,
  CONTROLS_EXCEPT_LINE_FEED,
  isBlank,
} from '../text/characters.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { assertParticipationQuota, assertSpaceQuota, assertTagQuota } from './space-quotas.ts';
import { deleteUnusedTags, parseTags, readTags, setTags } from './tags.ts';

/**
 * Creates a space with the caller as its first participant.
 * @throws DomainError `invalid_request`, `quota_exceeded`, `too_many_requests`
 */
export async function createSpace(
  { engine, avatars, quotas }: Stores & WriteResources,
  caller: Caller,
  creation: SpaceCreation,
): Promise<Space> {
  const title = parseTitle(creation.title);
  const description = parseDescription(creation.description);
  const tags = parseTags(creation.tags);
  const now = new Date().toISOString();
  return transactOnIndex(engine, async (trx) => {
    await requireSession(trx, caller);
    await countAction(trx, quotas, caller.userPk, 'space');
    await assertSpaceQuota(trx, quotas, caller);
    await assertParticipationQuota(trx, quotas, caller);
    const { pk } = await trx
      .insertInto('spaces')
      .values({
        space_id: randomUUID(),
        creator_pk: caller.userPk,
        title,
        description,
        visibility: creation.visibility,
        invitation_code: invitationCodeFor(creation.visibility),
        participant_count: 1,
        created_at: now,
      })
      .returning('pk')
      .executeTakeFirstOrThrow();
    await trx
      .insertInto('participations')
      .values({
        space_pk: pk,
        user_pk: caller.userPk,
        joined_at: now,
        left_at: null,
        removed_at: null,
      })
      .execute();
    await setTags(engine, trx, pk, tags);
    if (tags.length > 0) await assertTagQuota(trx, quotas, caller);
    await indexSpace(engine, trx, pk);
    return describeSpace(trx, avatars, pk, caller);
  });
}

/**
 * Returns a space that the caller may see.
 * @throws DomainError `space_not_found`
 */
export async function readSpace(
  { engine, avatars }: Stores,
  caller: Caller | null,
  spaceId: string,
): Promise<Space> {
  const { pk } = await findSpace(engine.db, caller, spaceId);
  return describeSpace(engine.db, avatars, pk, caller);
}

/**
 * Changes the given fields of a space that the caller created.
 * @throws DomainError `space_not_found`, `not_space_creator`, `invalid_request`, `space_cannot_become_public`,
 *   `quota_exceeded`, `too_many_requests`
 */
export async function updateSpace(
  { engine, avatars, quotas }: Stores & WriteResources,
  caller: Caller,
  spaceId: string,
  update: SpaceUpdate,
): Promise<Space> {
  return transactOnIndex(engine, async (trx) => {
    await requireSession(trx, caller);
    await countAction(trx, quotas, caller.userPk, 'space');
    const space = await findOwnSpace(trx, caller, spaceId);
    const { pk } = space;
    await updateRow(trx, space, update);
    let formerTags: number[] = [];
    if (update.tags) {
      const tags = parseTags(update.tags);
      formerTags = await setTags(engine, trx, pk, tags);
      // An imported account that has more tags can still remove some.
      if (tags.length > formerTags.length) await assertTagQuota(trx, quotas, caller);
    }
    await indexSpace(engine, trx, pk);
    // After `indexSpace`, because the index referred to the former tags until then.
    await deleteUnusedTags(trx, formerTags);
    return describeSpace(trx, avatars, pk, caller);
  });
}

async function updateRow(
  trx: Database,
  space: FoundSpace,
  { title, description, visibility }: SpaceUpdate,
): Promise<void> {
  const changes: {
    title?: string;
    description?: string;
    visibility?: Visibility;
    invitation_code?: string | null;
  } = {};
  if (title !== undefined) changes.title = parseTitle(title);
  if (description !== undefined) changes.description = parseDescription(description);
  // A space that stays private keeps its invitation code.
  if (visibility !== undefined && visibility !== space.visibility) {
    if (visibility === 'public') await assertPublishable(trx, space);
    changes.visibility = visibility;
    changes.invitation_code = invitationCodeFor(visibility);
  }
  if (Object.keys(changes).length === 0) return;
  await trx.updateTable('spaces').set(changes).where('pk', '=', space.pk).execute();
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
 * @throws DomainError `space_not_found`, `not_space_creator`, `space_is_public`, `too_many_requests`
 */
export async function renewInvitationCode(
  { engine, avatars, quotas }: Stores & WriteResources,
  caller: Caller,
  spaceId: string,
): Promise<Space> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countAction(trx, quotas, caller.userPk, 'change');
    const { pk, visibility } = await findOwnSpace(trx, caller, spaceId);
    if (visibility === 'public') {
      throw new DomainError(
        'space_is_public',
        'This space is public, so it has no invitation code. Anyone can join it.',
      );
    }
    await trx
      .updateTable('spaces')
      .set({ invitation_code: newInvitationCode() })
      .where('pk', '=', pk)
      .execute();
    return describeSpace(trx, avatars, pk, caller);
  });
}

type Visibility = Space['visibility'];

/** The properties of a space that decide who can access it. */
export interface FoundSpace {
  pk: number;
  creatorPk: number;
  visibility: Visibility;
  invitationCode: string | null;
  /** Whether the caller is a participant now. */
  isParticipant: boolean;
}

/**
 * Finds a space that the caller may see: a public space, or a private one in which they participate.
 * @throws DomainError `space_not_found`
 */
export async function findSpace(
  db: Database,
  caller: Caller | null,
  spaceId: string,
): Promise<FoundSpace> {
  const space = await findAnySpace(db, caller, spaceId);
  if (space.visibility === 'private' && !space.isParticipant) throw spaceNotFound();
  return space;
}

/**
 * Finds a space even if it is private and the caller does not participate. The spaces of suspended creators are hidden
 * from everyone.
 * @throws DomainError `space_not_found`
 */
export async function findAnySpace(
  db: Database,
  caller: Caller | null,
  spaceId: string,
): Promise<FoundSpace> {
  const row = await db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .leftJoin('participations', (join) =>
      join
        .onRef('participations.space_pk', '=', 'spaces.pk')
        // No user has the `pk` 0.
        .on('participations.user_pk', '=', caller?.userPk ?? 0)
        .on('participations.left_at', 'is', null),
    )
    .select([
      'spaces.pk',
      'spaces.creator_pk as creatorPk',
      'spaces.visibility',
      'spaces.invitation_code as invitationCode',
      'participations.joined_at',
    ])
    .where('spaces.space_id', '=', spaceId)
    .where('users.suspended_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw spaceNotFound();
  const { joined_at, ...space } = row;
  return { ...space, isParticipant: joined_at !== null };
}

/**
 * Finds a space that the caller created.
 * @throws DomainError `space_not_found`, `not_space_creator`
 */
export async function findOwnSpace(
  db: Database,
  caller: Caller,
  spaceId: string,
): Promise<FoundSpace> {
  const space = await findSpace(db, caller, spaceId);
  if (space.creatorPk !== caller.userPk) {
    throw new DomainError('not_space_creator', 'Only the creator of the space can do this.');
  }
  return space;
}

export function spaceNotFound(): DomainError {
  return new DomainError('space_not_found', 'There is no such space, or it is private.');
}

/**
 * Returns spaces as the caller sees them, by `pk`: only the creator sees the invitation code. Does not check access.
 * Missing spaces and those of suspended creators are omitted.
 */
export async function describeSpaces(
  db: Database,
  avatars: AvatarUrls,
  spacePks: readonly number[],
  caller: Caller | null,
): Promise<Map<number, Space>> {
  if (spacePks.length === 0) return new Map();
  const rows = await db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .select([
      'spaces.pk',
      'spaces.creator_pk',
      'spaces.space_id',
      'spaces.title',
      'spaces.description',
      'spaces.visibility',
      'spaces.participant_count',
      'spaces.created_at',
      'spaces.invitation_code',
      'users.user_id',
      'users.username',
      'users.avatar',
    ])
    .where('spaces.pk', 'in', spacePks)
    .where('users.suspended_at', 'is', null)
    .where(isLiveSpace('spaces.pk'))
    .execute();
  const tags = await readTags(db, spacePks);
  return new Map(
    rows.map((row) => [
      row.pk,
      {
        space_id: row.space_id,
        title: row.title,
        description: row.description,
        visibility: row.visibility,
        creator: summarizeUser(avatars, row),
        participant_count: row.participant_count,
        tags: tags.get(row.pk) ?? [],
        created_at: row.created_at,
        invitation_code: row.creator_pk === caller?.userPk ? row.invitation_code : null,
      },
    ]),
  );
}

/**
 * Returns one space like `describeSpaces`.
 * @throws DomainError `space_not_found`
 */
export async function describeSpace(
  db: Database,
  avatars: AvatarUrls,
  spacePk: number,
  caller: Caller | null,
): Promise<Space> {
  const spaces = await describeSpaces(db, avatars, [spacePk], caller);
  const space = spaces.get(spacePk);
  if (!space) throw spaceNotFound();
  return space;
}

function invitationCodeFor(visibility: Visibility): string | null {
  return visibility === 'private' ? newInvitationCode() : null;
}

/** Returns 128 random bits in base64url. */
export function newInvitationCode(): string {
  return randomBytes(16).toString('base64url');
}

/**
 * Returns a title without surrounding white space.
 * @throws DomainError `invalid_request`
 */
export function parseTitle(text: string): string {
  const title = text.trim();
  if (isBlank(title) || CONTROLS_AND_LINE_SEPARATORS.test(title)) {
    throw new DomainError(
      'invalid_request',
      'A title is one line that is not blank. Control characters are not accepted.',
      [{ pointer: '/title', message: 'is blank or has control characters' }],
    );
  }
  return title;
}

/**
 * Returns a description with normalised line breaks and without surrounding white space.
 * @throws DomainError `invalid_request`
 */
export function parseDescription(text: string): string {
  const description = text.replace(/\r\n?/gu, '\n').trim();
  if (CONTROLS_EXCEPT_LINE_FEED.test(description)) {
    throw new DomainError(
      'invalid_request',
      'The description contains control characters. The only ones accepted are line breaks.',
      [{ pointer: '/description', message: 'has control characters' }],
    );
  }
  return description;
}
