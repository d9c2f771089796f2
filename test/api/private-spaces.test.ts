import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Space } from '../../generated/types.gen.ts';
import { type Operation, operations } from '../../server/contract.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { createSpace, getSpace, joinSpace, leaveSpace, sendMessage } from '../support/spaces.ts';

let app: TestApp;
let ann: TestUser;
let ben: TestUser;

beforeAll(async () => {
  app = await startApp();
  ann = await app.register('ann');
  ben = await app.register('ben');
});
afterAll(() => app[Symbol.asyncDispose]());

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

  type Ids = Record<'space_id' | 'message_id', string>;
  /** Every operation on a space or a message. */
  const operationsOnIt = operations.filter((operation) =>
    inputNamesOf(operation).some((name) => name === 'space_id' || name === 'message_id'),
  );
  const openOperations = operationsOnIt.filter((each) => each.authentication === 'optional');

  const sendAs = (headers: Record<string, string>, operation: Operation) => (ids: Ids) => {
    const { url, init } = exampleRequest(operation, ids);
    return app.fetch(url, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...headers },
    });
  };
  /** Asserts that the response equals the one for a space that does not exist. */
  const assertHidden = async (request: (ids: Ids) => Promise<Response>) => {
    const problemOf = async (ids: Ids) => {
      const response = await request(ids);
      expect(response.status).toBe(404);
      return { ...(await response.json()), request_id: '' };
    };
    const actual = await problemOf({ space_id: space.space_id, message_id });
    expect(actual).toEqual(await problemOf({ space_id: 'no-space', message_id: 'no-message' }));
  };

  test('is tested with operations on spaces, messages and appreciations', () => {
    const ids = operationsOnIt.map(({ operationId }) => operationId);
    expect(ids).toEqual(expect.arrayContaining(['getSpace', 'sendMessage', 'appreciateMessage']));
    expect(openOperations.map(({ operationId }) => operationId)).toContain('listMessages');
  });
  test.each(openOperations)('is hidden from callers without a token: $operationId', (operation) =>
    assertHidden(sendAs({}, operation)),
  );
  test.each(operationsOnIt)(
    'is hidden from users who do not participate: $operationId',
    (operation) => assertHidden(sendAs(ben.headers, operation)),
  );
  test('is hidden from users who guess an invitation code', () =>
    assertHidden(({ space_id }) =>
      app.fetch(`/api/participations/${space_id}`, {
        method: 'PUT',
        headers: { ...ben.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ invitation_code: 'guess' }),
      }),
    ));

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
    expect(data).toMatchObject([{ message_id, text: 'Nobody hears this.' }]);
  });

  test('is hidden from users who have left, until they join again', async () => {
    await leaveSpace(guest, space);
    for (const operation of operationsOnIt) await assertHidden(sendAs(guest.headers, operation));
    await joinSpace(guest, space);
    expect(await getSpace(guest, space)).toMatchObject({ participant_count: 2 });
  });

  test('can be joined again by its participants without an invitation code', async () => {
    const { data } = await api.joinSpace({ client: guest.client, path: space });
    expect(data?.space.participant_count).toBe(2);
  });
});
