import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Space, SpaceUpdate } from '../../generated/types.gen.ts';
import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { type Caller, findCaller } from '../../server/auth/sessions.ts';
import type { Context } from '../../server/context.ts';
import { operations } from '../../server/contract.ts';
import { listMessages } from '../../server/messages/messages.ts';
import { listParticipants, listParticipations } from '../../server/spaces/participations.ts';
import { listRemovals } from '../../server/spaces/removals.ts';
import { readSpace } from '../../server/spaces/spaces.ts';
import { withCallbackAfterQuery } from '../support/after-query.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { createSpace, getSpace, joinSpace, leaveSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
let ben: TestUser;

beforeAll(async () => {
  ann = await app.register('ann');
  ben = await app.register('ben');
});

describe('a private space', () => {
  let space: Space;
  let message_id: string;
  let guest: TestUser;
  beforeAll(async () => {
    space = await createSpace(ann, {
      title: 'Quincunx',
      description: 'Zygomorphic',
      visibility: 'private',
      tags: ['quincuncial'],
    });
    ({ message_id } = await sendMessage(ann, space, 'Nobody hears this.'));
    guest = await app.register('guest');
    await joinSpace(guest, space);
  });

  /** Every operation on a space or a message. */
  const operationsOnIt = operations.filter((operation) =>
    inputNamesOf(operation).some((name) => name === 'space_id' || name === 'message_id'),
  );
  test.each(operations.filter((each) => each.method === 'GET' && !operationsOnIt.includes(each)))(
    'is in no response to users who do not participate: $operationId',
    async (operation) => {
      const values = { user_id: ann.userId, q: 'quincunx', tag: 'quincuncial' };
      const { url } = exampleRequest(operation, values);
      const response = await app.fetch(url, { headers: ben.headers });
      expect(response.status).toBe(200);
      expect(await response.text()).not.toContain(space.space_id);
    },
  );
  test('is hidden from users who guess an invitation code', async () => {
    const body = { invitation_code: 'guess' };
    const join = async (space_id: string) => {
      const { error } = await api.joinSpace({ client: ben.client, path: { space_id }, body });
      return { ...error, request_id: '' };
    };
    expect(await join(space.space_id)).toMatchObject({ code: 'space_not_found' });
    expect(await join(space.space_id)).toEqual(await join('no-space'));
  });

  test('is not found by any search, even by its participants', async () => {
    for (const client of [app.client(), ann.client, guest.client]) {
      for (const q of ['quincunx', 'Zygomorphic', 'quin', 'quincunc']) {
        expect((await api.searchSpaces({ client, query: { q } })).data).toEqual([]);
      }
      const path = { tag: 'quincuncial' };
      expect((await api.searchSpacesByTag({ client, path })).data).toEqual([]);
    }
  });

  test('can be read by its participants', async () => {
    expect(await getSpace(guest, space)).toMatchObject({ title: 'Quincunx', participant_count: 2 });
    const { data } = await api.listMessages({
      client: guest.client,
      query: { space_id: space.space_id },
    });
    expect(data?.items).toMatchObject([{ message_id, text: 'Nobody hears this.' }]);
  });

  test('hides their own messages from users who have left, until they join again', async () => {
    const own = await sendMessage(guest, space, 'I am leaving.');
    await leaveSpace(guest, space);
    const { client } = guest;
    for (const call of [
      api.getMessage({ client, path: own }),
      api.listAppreciations({ client, path: own }),
    ]) {
      expect(await getError(call)).toBe('404 message_not_found');
    }
    await joinSpace(guest, space);
    expect(await getSpace(guest, space)).toMatchObject({ participant_count: 2 });
  });

  test('can be joined again by its participants without an invitation code', async () => {
    const { data } = await api.joinSpace({ client: guest.client, path: space });
    expect(data?.space.participant_count).toBe(2);
  });
});

const page = { limit: 10 };

const NOTHING = { items: [], next: null };
const NO_MESSAGES = { ...NOTHING, newer: expect.any(Array) };

/** Runs `read` on a new space. The caller loses access after the first query. */
type During = <T>(read: (context: Context, spaceId: string) => Promise<T>) => Promise<T>;

async function expectNoContent(caller: Caller, during: During): Promise<void> {
  await expect(during((context, id) => readSpace(context, caller, id))).rejects.toMatchObject({
    code: 'space_not_found',
  });
  const messages = await during((context, id) => listMessages(context, caller, id, page));
  const participants = await during((context, id) => listParticipants(context, caller, id, page));
  expect({ messages, participants }).toEqual({ messages: NO_MESSAGES, participants: NOTHING });
}

describe('a caller who loses access during a request', () => {
  /** Returns the context with a database that calls `change` after the first query. */
  const changingAfterFirstQuery = (change: () => Promise<unknown>): Context => {
    const { engine } = app.context;
    let changed: Promise<unknown> | undefined;
    const db = withCallbackAfterQuery(engine.db, () => (changed ??= change()));
    return { ...app.context, engine: { ...engine, db } };
  };
  const callerOf = async ({ token }: TestUser): Promise<Caller> => {
    const { engine, config } = app.context;
    return (await findCaller(engine, token, config.sessions)) as Caller;
  };

  test('does not see content written after the space has become private', async () => {
    const makePrivate = async (path: Pick<Space, 'space_id'>) => {
      const body: SpaceUpdate = { visibility: 'private', title: 'Secret', tags: ['secret'] };
      await api.updateSpace({ client: ann.client, path, body, throwOnError: true });
      await sendMessage(ann, path, 'A secret');
    };
    const during: During = async (read) => {
      const space = await createSpace(ann, { title: 'Open' });
      return read(
        changingAfterFirstQuery(() => makePrivate(space)),
        space.space_id,
      );
    };
    await expect(during((context, id) => readSpace(context, null, id))).rejects.toMatchObject({
      code: 'space_not_found',
    });
    const messages = await during((context, id) => listMessages(context, null, id, page));
    expect(messages).toEqual(NO_MESSAGES);
    const caller = await callerOf(ben);
    const participants = await during((context, id) => listParticipants(context, caller, id, page));
    expect(participants).toEqual(NOTHING);
  });

  test('does not see content written after their removal', async () => {
    const cay = await app.register();
    const caller = await callerOf(cay);
    const during: During = async (read) => {
      const space = await createSpace(ann, { visibility: 'private' });
      await joinSpace(cay, space);
      const context = changingAfterFirstQuery(async () => {
        const path = { space_id: space.space_id, user_id: cay.userId };
        await api.removeParticipant({ client: ann.client, path, throwOnError: true });
        await sendMessage(ann, space, 'A secret');
      });
      return read(context, space.space_id);
    };
    await expectNoContent(caller, during);
    expect(await during((context) => listParticipations(context, caller, 'joined', page))).toEqual({
      ...NOTHING,
      newer: expect.anything(),
      unread: { space_count: 0, message_count: 0 },
    });
  });

  test('does not see the content of a creator who has been suspended', async () => {
    const caller = await callerOf(ben);
    const during: During = async (read) => {
      const creator = await app.register();
      const space = await createSpace(creator, { title: 'Spam' });
      await sendMessage(creator, space, 'Spam');
      const context = changingAfterFirstQuery(() =>
        suspendAccount(app.context.engine, creator.userId),
      );
      return read(context, space.space_id);
    };
    await expectNoContent(caller, during);
  });

  test('does not see the removals from a space after their dismissal as a moderator', async () => {
    const moderator = await app.register();
    const caller = await callerOf(moderator);
    const space = await createSpace(ann);
    const { space_id } = space;
    for (const user of [moderator, ben]) await joinSpace(user, space);
    const path = { space_id, user_id: moderator.userId };
    await api.appointModerator({ client: ann.client, path, throwOnError: true });
    const context = changingAfterFirstQuery(async () => {
      await api.dismissModerator({ client: ann.client, path, throwOnError: true });
      const removal = { space_id, user_id: ben.userId };
      await api.removeParticipant({ client: ann.client, path: removal, throwOnError: true });
    });
    expect(await listRemovals(context, caller, space_id, page)).toEqual(NOTHING);
    const { client } = moderator;
    const refused = api.listRemovals({ client, query: { space_id } });
    expect(await getError(refused)).toBe('403 not_space_moderator');
  });

  test('does not see the removals from their spaces after their own suspension', async () => {
    const creator = await app.register();
    const caller = await callerOf(creator);
    const { space_id } = await createSpace(creator, { visibility: 'private' });
    await joinSpace(ben, await getSpace(creator, { space_id }));
    const path = { space_id, user_id: ben.userId };
    await api.removeParticipant({ client: creator.client, path, throwOnError: true });
    expect((await listRemovals(app.context, caller, space_id, page)).items).toHaveLength(1);
    const context = changingAfterFirstQuery(() =>
      suspendAccount(app.context.engine, creator.userId),
    );
    expect(await listRemovals(context, caller, space_id, page)).toEqual(NOTHING);
  });
});
