import { beforeAll, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { type Operation, operations } from '../../server/contract.ts';
import type { TestUser } from '../support/client.ts';
import { exampleRequest } from '../support/requests.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let user: TestUser;
/** The response of each operation with links. */
let responses: Record<string, object>;
/** The query parameters of these requests. */
let query: Record<string, string>;
beforeAll(async () => {
  user = await app.register();
  const guest = await app.register();
  const space = await createSpace(user);
  await joinSpace(guest, space);
  const { email, password } = user;
  const path = { space_id: space.space_id };
  responses = {
    register: { user_id: guest.userId },
    login: (await api.login({ client: app.client(), body: { email, password } })).data ?? {},
    createSpace: space,
    joinSpace: (await api.joinSpace({ client: user.client, path })).data ?? {},
    sendMessage: await sendMessage(user, space, 'Hello'),
    createToken:
      (await api.createToken({ client: user.client, body: { name: 'Bot', scopes: ['read'] } }))
        .data ?? {},
    listTokens: (await api.listTokens({ client: user.client })).data ?? {},
    listSessions: (await api.listSessions({ client: user.client })).data ?? {},
    listParticipants: (await api.listParticipants({ client: user.client, query: path })).data ?? {},
  };
  query = path;
});

const links = operations.flatMap(({ operationId, responses: declared }) =>
  Object.values(declared).flatMap(({ links = {} }) =>
    Object.values(links).map(
      (link) => [`${operationId} to ${link.operationId}`, operationId, link] as const,
    ),
  ),
);

test.each(links)('the link from %s contains an existing id', async (_name, from, link) => {
  const target = operations.find((each) => each.operationId === link.operationId) as Operation;
  const values = Object.entries(link.parameters).map(([name, expression]) => {
    expect(target.parameters.map((each) => each.name)).toContain(name);
    const [, parameter] = /^\$request\.query\.(\w+)$/.exec(expression) ?? [];
    const keys = expression.replace('$response.body#/', '').split('/');
    const value = parameter
      ? query[parameter]
      : keys.reduce((part: unknown, key) => Object(part)[key], responses[from]);
    expect(value).toMatch(/^[\w-]+$/);
    return [name, value as string];
  });
  // The other operations would change what the links need.
  if (target.method !== 'GET') return;
  const { url } = exampleRequest(target, Object.fromEntries(values));
  expect((await app.fetch(url, { headers: user.headers })).status).toBe(200);
});
