import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Space } from '../../generated/types.gen.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { createSpace, getSpace, joinSpace, leaveSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
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
  space = await createSpace(ann);
  await joinSpace(ben, space);
  await joinSpace(carl, space);
});

type Actor = Pick<TestUser, 'client'>;
type Target = Pick<TestUser, 'userId'>;

const pathOf = ({ userId }: Target) => ({ space_id: space.space_id, user_id: userId });
const appoint = ({ client }: Actor, target: Target) =>
  api.appointModerator({ client, path: pathOf(target) });
const dismiss = ({ client }: Actor, target: Target) =>
  api.dismissModerator({ client, path: pathOf(target) });
const remove = ({ client }: Actor, target: Target) =>
  api.removeParticipant({ client, path: pathOf(target) });
const undo = ({ client }: Actor, target: Target) =>
  api.undoRemoval({ client, path: pathOf(target) });

async function rolesIn({ space_id }: Space): Promise<Record<string, string>> {
  const query = { space_id, limit: 100 };
  const { data } = await api.listParticipants({ client: ann.client, query, throwOnError: true });
  return Object.fromEntries(data.items.map(({ user, role }) => [user.username, role]));
}

describe('appointModerator', () => {
  test('returns the participant, whose role is in every list, and repeats it without an effect', async () => {
    const { data: appointed } = await appoint(ann, ben);
    expect(appointed).toMatchObject({ user: { username: 'ben' }, role: 'moderator' });
    expect((await appoint(ann, ben)).data).toEqual(appointed);
    expect(await rolesIn(space)).toEqual({ ann: 'creator', ben: 'moderator', carl: 'participant' });
    const { client } = ben;
    const { data: participation } = await api.getParticipation({ client, path: space });
    expect(participation).toMatchObject({
      role: 'moderator',
      joined_at: appointed?.joined_at,
      space: { participation: { role: 'moderator' }, participant_count: 3 },
    });
    const { data: listed } = await api.listUserSpaces({ client, path: { user_id: ann.userId } });
    expect(listed?.items[0]?.participation).toMatchObject({ role: 'moderator' });
    const { data: own } = await api.downloadAccountData({ client });
    expect(own?.participations[0]).toMatchObject({ is_moderator: true });
  });

  test('tells readers who wait for changes of their list, and changes the ETag of the space', async () => {
    const { client } = ben;
    const before = await api.getSpace({ client, path: space });
    const { data: list } = await api.listParticipations({ client, throwOnError: true });
    const query = { after: list.newer_cursor, wait: 20 };
    const waiting = api.listParticipations({ client, query, throwOnError: true });
    await appoint(ann, ben);
    expect((await waiting).data.items).toMatchObject([
      { role: 'moderator', space: { space_id: space.space_id } },
    ]);
    const etag = before.response?.headers.get('etag') ?? '';
    const after = await api.getSpace({ client, path: space, headers: { 'If-None-Match': etag } });
    expect(after.response?.status).toBe(200);
  });

  test('ends when the moderator leaves or is removed, also after joining again', async () => {
    await appoint(ann, ben);
    await leaveSpace(ben, space);
    await joinSpace(ben, space);
    expect(await rolesIn(space)).toMatchObject({ ben: 'participant' });
    await appoint(ann, ben);
    await remove(ann, ben);
    await undo(ann, ben);
    await joinSpace(ben, space);
    expect(await rolesIn(space)).toMatchObject({ ben: 'participant' });
    expect(await getError(remove(ben, carl))).toBe('403 not_space_moderator');
  });
});

test('a removal names the moderator who made it, until their account is deleted', async () => {
  const dan = await app.register();
  await joinSpace(dan, space);
  await appoint(ann, dan);
  const { data: removal } = await remove(dan, carl);
  expect(removal?.removed_by?.user_id).toBe(dan.userId);
  // Removing a removed user has no effect.
  expect((await remove(ann, carl)).data).toEqual(removal);
  const query = { space_id: space.space_id };
  const list = async () =>
    (await api.listRemovals({ client: ann.client, query, throwOnError: true })).data.items;
  expect(await list()).toEqual([removal]);
  await api.deleteAccount({ client: dan.client, throwOnError: true });
  expect(await list()).toEqual([{ ...removal, removed_by: null }]);
  const { db } = app.context.engine;
  const removers = db.selectFrom('participations').select('removed_by_pk');
  const kept = () => removers.where('removed_by_pk', 'is not', null).execute();
  await expect.poll(kept).toEqual([]);
  await undo(ann, carl);
});

describe('dismissModerator', () => {
  test('takes effect at the next request, also to another process', async () => {
    await using other = await startApp({}, { sharesDataOf: app });
    const elsewhere = { client: other.client(ben.token) };
    await appoint(ann, ben);
    expect((await remove(elsewhere, carl)).response?.status).toBe(200);
    await dismiss(ann, ben);
    expect(await getError(undo(elsewhere, carl))).toBe('403 not_space_moderator');
    expect((await getSpace(elsewhere, space)).participation?.role).toBe('participant');
  });
});

describe('Requests of the creator and two moderators at the same time', () => {
  type State = 'creator' | 'moderator' | 'participant' | 'removed' | 'gone';
  const kinds = ['appoint', 'dismiss', 'remove', 'undo', 'leave'] as const;
  /** The indexes of users: the creator, two moderators and a participant. */
  type Step = { kind: (typeof kinds)[number]; actor: number; target: number };

  /** Applies a step to a model of the rules. Returns the status of the response. */
  function applyStep(states: State[], { kind, actor, target }: Step): number {
    const [own, other] = [states[actor] as State, states[target] as State];
    const isModerator = own === 'creator' || own === 'moderator';
    const isParticipant = isModerator || own === 'participant';
    switch (kind) {
      case 'leave':
        if (own === 'creator') return 409;
        if (own !== 'removed') states[actor] = 'gone';
        return 200;
      case 'appoint':
        if (own !== 'creator') return 403;
        if (other === 'removed' || other === 'gone') return 404;
        if (other === 'participant') states[target] = 'moderator';
        return 200;
      case 'dismiss':
        if (own !== 'creator' && !(isParticipant && actor === target)) return 403;
        if (other === 'moderator') states[target] = 'participant';
        return 200;
      case 'remove':
        if (!isModerator) return 403;
        if (other === 'creator') return 409;
        if (other === 'moderator' && own !== 'creator') return 403;
        states[target] = 'removed';
        return 200;
      case 'undo':
        if (!isModerator) return 403;
        if (other === 'removed') states[target] = 'gone';
        return 200;
    }
  }

  function* ordersOf<T>(items: readonly T[]): Generator<T[]> {
    if (items.length === 0) yield [];
    for (const [i, item] of items.entries()) {
      for (const rest of ordersOf(items.toSpliced(i, 1))) yield [item, ...rest];
    }
  }

  const actor = fc.integer({ min: 0, max: 2 });
  const target = fc.integer({ min: 0, max: 3 });
  const step: fc.Arbitrary<Step> = fc.record({ kind: fc.constantFrom(...kinds), actor, target });

  test('leave a state that some order of them explains', async () => {
    const dora = await app.register('dora');
    const users = [ann, ben, dora, carl];
    const send = ({ kind, actor: i, target: j }: Step) => {
      const [own, other] = [users[i], users[j]] as [TestUser, TestUser];
      if (kind === 'leave') return api.leaveSpace({ client: own.client, path: space });
      return { appoint, dismiss, remove, undo }[kind](own, other);
    };
    const readStates = async (): Promise<State[]> => {
      const roles = await rolesIn(space);
      const query = { space_id: space.space_id };
      const { data } = await api.listRemovals({ client: ann.client, query, throwOnError: true });
      const removed = data.items.map(({ user }) => user.username);
      return users.map(
        ({ username }) =>
          (roles[username] as State) ?? (removed.includes(username) ? 'removed' : 'gone'),
      );
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 4 }), async (steps) => {
        space = await createSpace(ann);
        for (const user of [ben, dora, carl]) await joinSpace(user, space);
        for (const user of [ben, dora]) await appoint(ann, user);
        const responses = await Promise.all(steps.map(send));
        const actual = {
          states: await readStates(),
          statuses: responses.map(({ response }) => response?.status),
        };
        const explanations = Array.from(ordersOf([...steps.keys()]), (order) => {
          const states: State[] = ['creator', 'moderator', 'moderator', 'participant'];
          const statuses: number[] = [];
          for (const i of order) statuses[i] = applyStep(states, steps[i] as Step);
          return { states, statuses };
        });
        expect(explanations).toContainEqual(actual);
      }),
      { numRuns: 20 },
    );
  });
});
