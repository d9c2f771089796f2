import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Participation, Space } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { nextPage, readPages } from '../support/pages.ts';
import {
  createSpace,
  getSpace,
  joinSpace,
  leaveSpace,
  listParticipations,
} from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;

const getParticipation = async ({ client }: TestUser, space: Space): Promise<Participation> =>
  (await api.getParticipation({ client, path: space, throwOnError: true })).data;

beforeAll(async () => {
  ann = await app.register('ann');
});

describe('joinSpace', () => {
  let space: Space;
  let carl: TestUser;
  beforeEach(async () => {
    space = await createSpace(ann);
    carl = await app.register();
  });

  test('returns the space and the time of joining, unchanged when repeated', async () => {
    const first = await api.joinSpace({ client: carl.client, path: space, throwOnError: true });
    const { joined_at } = first.data;
    expect(first.data).toEqual({
      space: { ...space, participant_count: 2, participation: { joined_at, role: 'participant' } },
      joined_at,
      role: 'participant',
      read_until: joined_at,
      last_message_at: null,
      last_message: null,
      unread_count: 0,
      unread_mentions: 0,
      muted: false,
    });
    expect(Date.parse(joined_at)).toBeGreaterThanOrEqual(Date.parse(space.created_at));
    await sleep(2);
    const second = await api.joinSpace({ client: carl.client, path: space, throwOnError: true });
    expect(second.data).toEqual(first.data);
    expect(await listParticipations(carl)).toEqual([first.data]);
    expect(await getParticipation(carl, space)).toEqual(first.data);
    expect(await getSpace(carl, space)).toEqual(first.data.space);
  });

  test('accepts a public space with or without a body or an invitation code', async () => {
    const { client } = carl;
    for (const body of [
      undefined,
      // What clients of some generators send for an omitted body.
      null as never,
      {},
      { invitation_code: null },
      { invitation_code: 'whatever' },
    ]) {
      const { response } = await api.joinSpace({
        client,
        path: space,
        ...(body !== undefined && { body }),
      });
      expect(response?.status).toBe(200);
    }
    expect((await getSpace(carl, space)).participant_count).toBe(2);
  });

  test('counts concurrent requests of a user once, like leaveSpace', async () => {
    await Promise.all(Array.from({ length: 12 }, () => joinSpace(carl, space)));
    expect((await getSpace(carl, space)).participant_count).toBe(2);
    await Promise.all(Array.from({ length: 12 }, () => leaveSpace(carl, space)));
    expect((await getSpace(carl, space)).participant_count).toBe(1);
  });
});

describe('leaveSpace', () => {
  let space: Space;
  let carl: TestUser;
  beforeEach(async () => {
    space = await createSpace(ann);
    carl = await app.register();
  });

  const readParticipation = () =>
    app.context.engine.db
      .selectFrom('participations')
      .innerJoin('users', 'users.pk', 'participations.user_pk')
      .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
      .select(['joined_at', 'left_at'])
      .where('user_id', '=', carl.userId)
      .where('space_id', '=', space.space_id)
      .executeTakeFirst();

  test('changes nothing for a user who does not participate', async () => {
    await leaveSpace(carl, space);
    expect(await getSpace(carl, space)).toEqual({ ...space, participation: null });
    expect(await readParticipation()).toBeUndefined();
  });

  test('keeps joined_at and stores left_at once', async () => {
    await joinSpace(carl, space);
    const joined = await readParticipation();
    await leaveSpace(carl, space);
    const left = await readParticipation();
    expect(left).toEqual({ ...joined, left_at: expect.any(String) });
    expect(await listParticipations(carl)).toEqual([]);
    const call = api.getParticipation({ client: carl.client, path: space });
    expect(await getError(call)).toBe('404 participation_not_found');
    expect(await getSpace(carl, space)).toEqual({ ...space, participation: null });
    await sleep(2);
    await leaveSpace(carl, space);
    expect(await readParticipation()).toEqual(left);
    expect((await getSpace(carl, space)).participant_count).toBe(1);
  });

  test('allows the user to join again, with a new joined_at', async () => {
    await joinSpace(carl, space);
    const before = await readParticipation();
    await leaveSpace(carl, space);
    await sleep(2);
    await joinSpace(carl, space);
    const after = await readParticipation();
    expect(after?.left_at).toBeNull();
    expect(Date.parse(after?.joined_at ?? '')).toBeGreaterThan(Date.parse(before?.joined_at ?? ''));
    expect(await listParticipations(carl)).toMatchObject([
      { space: { space_id: space.space_id, participant_count: 2 }, joined_at: after?.joined_at },
    ]);
  });
});

describe('listParticipations', () => {
  let dora: TestUser;
  let spaces: Space[];
  beforeAll(async () => {
    dora = await app.register('dora');
    spaces = [];
    for (const i of Array(7).keys()) {
      spaces.push(await createSpace(i % 2 ? ann : dora, { title: `Space ${i}` }));
      if (i % 2) await joinSpace(dora, spaces.at(-1) as Space);
    }
    await leaveSpace(dora, spaces[1] as Space);
    await leaveSpace(dora, spaces[5] as Space);
    await joinSpace(dora, spaces[1] as Space);
    // Sets the same timestamp for all participations except the first two of the list.
    const { joined_at } = (await listParticipations(dora)).at(-1) as Participation;
    await app.context.engine.db
      .updateTable('participations')
      .set({ joined_at })
      .where('space_pk', 'in', (eb) =>
        eb.selectFrom('spaces').select('pk').where('title', 'in', titles.slice(2)),
      )
      .execute();
  });

  const titles = ['Space 1', 'Space 6', 'Space 4', 'Space 3', 'Space 2', 'Space 0'];

  test('returns the spaces of the caller, the last joined first', async () => {
    expect((await listParticipations(dora)).map(({ space }) => space.title)).toEqual(titles);
  });

  test.each([1, 2, 3, 5, 6, 7])('returns the same list in pages of %i', async (limit) => {
    const path = `/api/participations?limit=${limit}`;
    const pages = await readPages<Participation>(app, path, { headers: dora.headers });
    expect(pages.map((page) => page.length)).toEqual(
      Array.from({ length: Math.ceil(6 / limit) }, (_, i) => Math.min(limit, 6 - i * limit)),
    );
    expect(pages.flat().map(({ space }) => space.title)).toEqual(titles);
  });

  test('does not repeat spaces if the caller joins one between two pages', async () => {
    const first = await app.fetch('/api/participations?limit=3', { headers: dora.headers });
    const link = nextPage(first) as string;
    const space = await createSpace(dora, { title: 'A new one' });
    const [rest] = await readPages<Participation>(app, link, { headers: dora.headers });
    expect(rest?.map(({ space }) => space.title)).toEqual(titles.slice(3));
    await api.deleteSpace({ client: dora.client, path: space, throwOnError: true });
  });
});
