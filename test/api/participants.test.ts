import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Participant, Removal, Space } from '../../generated/types.gen.ts';
import { transactAlone } from '../../server/database/transaction.ts';
import { uploadAvatar } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { isPostgresql } from '../support/databases.ts';
import { getError } from '../support/errors.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { createSpace, joinSpace, leaveSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';
import { waitUntil } from '../support/wait-until.ts';

const app = useApp();
/** Creates the spaces. */
let ann: TestUser;
let ben: TestUser;
let carl: TestUser;

beforeAll(async () => {
  ann = await app.register('ann');
  ben = await app.register('ben');
  carl = await app.register('carl');
});

let space: Space;
beforeEach(async () => {
  space = await createSpace(ann, { visibility: 'private' });
  await joinSpace(ben, space);
});

type Reader = Pick<TestUser, 'client'>;

const summaryOf = ({ userId, username }: TestUser) => ({
  user_id: userId,
  username,
  profile_picture: `${app.url}/avatars/default.webp`,
});

const listParticipants = ({ client }: Reader, { space_id }: Space) =>
  api.listParticipants({ client, query: { space_id } });

const listRemovals = ({ client }: Reader, { space_id }: Space) =>
  api.listRemovals({ client, query: { space_id } });

const remove = ({ client }: Reader, user: TestUser, { space_id }: Space) =>
  api.removeParticipant({ client, path: { space_id, user_id: user.userId } });

const undo = ({ client }: Reader, user: TestUser, { space_id }: Space) =>
  api.undoRemoval({ client, path: { space_id, user_id: user.userId } });

const join = ({ client }: Reader, { space_id, invitation_code }: Space) =>
  api.joinSpace({ client, path: { space_id }, body: { invitation_code } });

const renew = ({ client }: Reader, { space_id }: Space) =>
  api.renewInvitationCode({ client, path: { space_id } });

const publish = ({ client }: Reader, { space_id }: Space) =>
  api.updateSpace({ client, path: { space_id }, body: { visibility: 'public' } });

const getSpace = ({ client }: Reader, { space_id }: Space) =>
  api.getSpace({ client, path: { space_id } });

const listMessages = ({ client }: Reader, { space_id }: Space) =>
  api.listMessages({ client, query: { space_id } });

const statsOf = async ({ client }: Reader) =>
  (await api.getProfile({ client, throwOnError: true })).data.stats;

describe('listParticipants', () => {
  let open: Space;
  /** The usernames of the participants in `open`, the last joined first. */
  const joined = ['ann'];
  beforeAll(async () => {
    open = await createSpace(ann, { title: 'Shared' });
    for (const i of Array(5).keys()) {
      const guest = await app.register(`guest${i}`);
      await joinSpace(guest, open);
      joined.unshift(guest.username);
    }
    // Sets the same timestamp for all but the first two, so that their order depends on the second sort key.
    const { data } = await listParticipants(ann, open);
    await app.context.engine.db
      .updateTable('participations')
      .set({ joined_at: open.created_at })
      .where('joined_at', '<', data?.items[1]?.joined_at as string)
      .where('space_pk', 'in', (eb) =>
        eb.selectFrom('spaces').select('pk').where('title', '=', 'Shared'),
      )
      .execute();
  });

  test('returns the current participants with avatar and time of joining, the last joined first', async () => {
    await sleep(2);
    const { data: participation } = await join(carl, space);
    const profile_picture = await uploadAvatar(carl);
    const { data } = await listParticipants(ann, space);
    expect(data?.items).toEqual([
      {
        user: { ...summaryOf(carl), profile_picture },
        joined_at: participation?.joined_at,
        role: 'participant',
      },
      { user: summaryOf(ben), joined_at: expect.any(String), role: 'participant' },
      { user: summaryOf(ann), joined_at: space.created_at, role: 'creator' },
    ]);
    await leaveSpace(ben, space);
    expect((await listParticipants(carl, space)).data?.items).toEqual([
      data?.items[0],
      data?.items[2],
    ]);
  });

  test.each([1, 2, 3, 5, 6, 7])('returns the same list in pages of %i', async (limit) => {
    const path = `/api/participants?space_id=${open.space_id}&limit=${limit}`;
    const pages = await readPages<Participant>(app, path, { headers: carl.headers });
    expect(pages).toHaveLength(Math.ceil(joined.length / limit));
    expect(pages.flat().map(({ user }) => user.username)).toEqual(joined);
  });

  test('does not repeat users if someone joins between two pages', async () => {
    const path = `/api/participants?space_id=${open.space_id}&limit=3`;
    const first = await app.fetch(path, { headers: carl.headers });
    await joinSpace(carl, open);
    const next = nextPage(first) as string;
    const rest = await readPages<Participant>(app, next, { headers: carl.headers });
    expect(rest.flat().map(({ user }) => user.username)).toEqual(joined.slice(3));
    await leaveSpace(carl, open);
  });
});

describe('removeParticipant', () => {
  test('ends the participation and lists the user as removed', async () => {
    const { data: removal } = await remove(ann, ben, space);
    expect(removal).toEqual({
      user: summaryOf(ben),
      removed_at: expect.any(String),
      removed_by: summaryOf(ann),
    });
    expect((await listParticipants(ann, space)).data?.items).toEqual([
      { user: summaryOf(ann), joined_at: space.created_at, role: 'creator' },
    ]);
    expect((await getSpace(ann, space)).data?.participant_count).toBe(1);
    expect((await listRemovals(ann, space)).data?.items).toEqual([removal]);
    await sleep(2);
    expect((await remove(ann, ben, space)).data).toEqual(removal);
    expect((await getSpace(ann, space)).data?.participant_count).toBe(1);
  });

  test('takes away access to a private space immediately', async () => {
    await sendMessage(ann, space, 'Before');
    await remove(ann, ben, space);
    for (const call of [
      getSpace(ben, space),
      listMessages(ben, space),
      listParticipants(ben, space),
    ]) {
      expect(await getError(call)).toBe('404 space_not_found');
    }
    const { client } = ben;
    const body = { space_id: space.space_id, text: 'After' };
    expect(await getError(api.sendMessage({ client, body }))).toBe('404 space_not_found');
    expect((await api.listParticipations({ client })).data?.items).not.toContainEqual(
      expect.objectContaining({ space: expect.objectContaining({ space_id: space.space_id }) }),
    );
  });

  test('prevents the user from joining again, even with a valid invitation code', async () => {
    await remove(ann, ben, space);
    expect(await getError(join(ben, space))).toBe('403 removed_from_space');
    const { data: renewed } = await renew(ann, space);
    expect(await getError(join(ben, renewed as Space))).toBe('403 removed_from_space');
    expect((await getSpace(ann, space)).data?.participant_count).toBe(1);
  });

  test('hides a private space from removed users without its invitation code', async () => {
    await remove(ann, ben, space);
    await renew(ann, space);
    expect(await getError(join(ben, space))).toBe('404 space_not_found');
  });

  test('prevents the user from joining a public space, which stays readable', async () => {
    const open = await createSpace(ann);
    await joinSpace(ben, open);
    await remove(ann, ben, open);
    expect(await getError(join(ben, open))).toBe('403 removed_from_space');
    expect((await getSpace(ben, open)).data?.participant_count).toBe(1);
    const body = { space_id: open.space_id, text: 'After' };
    expect(await getError(api.sendMessage({ client: ben.client, body }))).toBe(
      '403 not_a_participant',
    );
  });

  test('prevents users who have left from joining again', async () => {
    await leaveSpace(ben, space);
    expect((await remove(ann, ben, space)).data).toMatchObject({ user: { user_id: ben.userId } });
    expect(await getError(join(ben, space))).toBe('403 removed_from_space');
    expect((await getSpace(ann, space)).data?.participant_count).toBe(1);
  });

  test('keeps the user’s messages and statistics', async () => {
    const message = await sendMessage(ben, space, 'three words here');
    const before = await statsOf(ben);
    await remove(ann, ben, space);
    expect((await listMessages(ann, space)).data?.items).toEqual([message]);
    expect(await statsOf(ben)).toEqual(before);
  });

  test('counts concurrent removals, joins and leaves once', async () => {
    await Promise.all([
      ...Array.from({ length: 4 }, () => remove(ann, ben, space)),
      ...Array.from({ length: 4 }, () => join(ben, space)),
      ...Array.from({ length: 4 }, () => api.leaveSpace({ client: ben.client, path: space })),
    ]);
    expect((await getSpace(ann, space)).data?.participant_count).toBe(1);
    expect((await listParticipants(ann, space)).data?.items).toHaveLength(1);
  });

  test('rejects the creator, and users who never joined', async () => {
    expect(await getError(remove(ann, ann, space))).toBe('409 creator_cannot_leave');
    expect(await getError(remove(ann, carl, space))).toBe('404 participant_not_found');
    const unknown = { ...carl, userId: 'nobody' };
    expect(await getError(remove(ann, unknown, space))).toBe('404 participant_not_found');
  });
});

describe('undoRemoval', () => {
  test('lets the user join again, but does not make them a participant', async () => {
    await remove(ann, ben, space);
    expect((await undo(ann, ben, space)).data).toEqual({
      message: 'The user can join the space again.',
    });
    expect((await listRemovals(ann, space)).data?.items).toEqual([]);
    expect((await listParticipants(ann, space)).data?.items).toHaveLength(1);
    expect(await getError(getSpace(ben, space))).toBe('404 space_not_found');
    expect((await join(ben, space)).data?.space.participant_count).toBe(2);
  });

  test('changes nothing for users who are not removed', async () => {
    const before = (await listParticipants(ann, space)).data?.items;
    for (const user of [ann, ben, carl, { ...carl, userId: 'nobody' }]) {
      expect((await undo(ann, user, space)).response?.status).toBe(200);
    }
    expect((await listParticipants(ann, space)).data?.items).toEqual(before);
  });
});

describe('listRemovals', () => {
  test('returns removed users in pages, the last removed first', async () => {
    const names: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const guest = await app.register();
      await joinSpace(guest, space);
      await remove(ann, guest, space);
      names.unshift(guest.username);
    }
    await app.context.engine.db
      .updateTable('participations')
      .set({ removed_at: '2026-01-01T00:00:00.000Z' })
      .where('user_pk', 'in', (eb) =>
        eb.selectFrom('users').select('pk').where('username', 'in', names.slice(1)),
      )
      .execute();
    for (const limit of [1, 2, 4, 5]) {
      const path = `/api/removals?space_id=${space.space_id}&limit=${limit}`;
      const pages = await readPages<Removal>(app, path, { headers: ann.headers });
      expect(pages).toHaveLength(Math.ceil(names.length / limit));
      expect(pages.flat().map(({ user }) => user.username)).toEqual(names);
    }
  });
});

describe('the deletion of an account', () => {
  const removals = () =>
    app.context.engine.db
      .selectFrom('participations')
      .select('space_pk')
      .where('removed_at', 'is not', null)
      .execute();

  test('deletes the removals of the account, and those in its spaces', async () => {
    const before = await removals();
    const [host, guest, other] = [
      await app.register(),
      await app.register(),
      await app.register(),
    ] as const;
    const hosted = await createSpace(host);
    for (const user of [guest, other]) {
      await joinSpace(user, hosted);
      await remove(host, user, hosted);
    }
    expect(await removals()).toHaveLength(before.length + 2);
    await api.deleteAccount({ client: guest.client, throwOnError: true });
    expect((await listRemovals(host, hosted)).data?.items).toMatchObject([
      { user: { user_id: other.userId } },
    ]);
    await api.deleteAccount({ client: host.client, throwOnError: true });
    expect(await removals()).toEqual(before);
  });
});

describe('renewInvitationCode', () => {
  test('replaces the code and changes nothing else', async () => {
    const { data: renewed } = await renew(ann, space);
    expect(renewed).toEqual({
      ...space,
      participant_count: 2,
      invitation_code: expect.stringMatching(/^[\w-]{22}$/),
    });
    expect(renewed?.invitation_code).not.toBe(space.invitation_code);
    expect((await getSpace(ann, space)).data).toEqual(renewed);
    expect(await getError(join(carl, space))).toBe('404 space_not_found');
    expect((await join(carl, renewed as Space)).response?.status).toBe(200);
  });
});

describe('a private space with messages of other users', () => {
  test('cannot become public, and keeps all its fields', async () => {
    await sendMessage(ann, space, 'Mine');
    await sendMessage(ben, space, 'Private');
    const before = (await getSpace(ann, space)).data;
    const { error, response } = await api.updateSpace({
      client: ann.client,
      path: space,
      body: { visibility: 'public', title: 'Published' },
    });
    expect(response?.status).toBe(409);
    expect(error).toMatchObject({
      code: 'space_cannot_become_public',
      errors: [{ pointer: '/visibility' }],
    });
    expect((await getSpace(ann, space)).data).toEqual(before);
  });

  test('cannot become public after their authors have left or have been removed', async () => {
    await sendMessage(ben, space, 'Private');
    await leaveSpace(ben, space);
    expect(await getError(publish(ann, space))).toBe('409 space_cannot_become_public');
    await remove(ann, ben, space);
    expect(await getError(publish(ann, space))).toBe('409 space_cannot_become_public');
  });

  test('can become public after these messages have been deleted', async () => {
    await sendMessage(ann, space, 'Mine');
    const { message_id } = await sendMessage(ben, space, 'Private');
    await api.deleteMessage({ client: ben.client, path: { message_id }, throwOnError: true });
    expect((await publish(ann, space)).data?.visibility).toBe('public');
  });

  test('can still be changed otherwise', async () => {
    await sendMessage(ben, space, 'Private');
    const { data } = await api.updateSpace({
      client: ann.client,
      path: space,
      body: { title: 'Renamed', visibility: 'private' },
    });
    expect(data).toMatchObject({ title: 'Renamed', visibility: 'private' });
  });

  // On PostgreSQL, the order of waiting transactions is not fixed. There, test/database/postgresql/races.test.ts
  // covers this race.
  test.skipIf(isPostgresql)(
    'cannot become public if the message of another user commits first',
    async () => {
      const { engine } = app.context;
      const waitForWriters = (count: number) =>
        waitUntil('the writers wait', () => engine.activity().waitingWriters === count);
      const body = { space_id: space.space_id, text: 'Private' };
      const results: Promise<{ response?: Response }>[] = [];
      // Holds the write lock, so that neither request has changed anything when the other one begins.
      await transactAlone(engine, async () => {
        results.push(api.sendMessage({ client: ben.client, body }));
        await waitForWriters(1);
        results.push(publish(ann, space));
        await waitForWriters(2);
      });
      const responses = await Promise.all(results);
      expect(responses.map(({ response }) => response?.status)).toEqual([201, 409]);
      expect((await getSpace(ann, space)).data?.visibility).toBe('private');
    },
  );
});
