import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { CreatedToken, Message, Scope } from '../../generated/types.gen.ts';
import { setPassword } from '../../server/account-lifecycle/password-reset.ts';
import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { deleteExpiredSessions } from '../../server/auth/sessions.ts';
import { contract, operations } from '../../server/contract.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { exampleRequest } from '../support/requests.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ada: TestUser;
beforeAll(async () => {
  ada = await app.register('ada');
});

const SCOPES: Scope[] = ['read', 'write', 'moderate', 'profile'];

const create = async (
  user: TestUser,
  scopes: Scope[] = ['read'],
  expires_at: string | null = null,
): Promise<CreatedToken> => {
  const body = { name: 'Bot', scopes, expires_at };
  return (await api.createToken({ client: user.client, body, throwOnError: true })).data;
};

const statusOf = async ({ access_token }: CreatedToken) =>
  (await api.getProfile({ client: app.client(access_token) })).response?.status;

describe('The scope of an operation', () => {
  const accepting = operations.filter(({ authentication }) => authentication !== 'none');
  const cells = accepting.flatMap((operation) =>
    SCOPES.map((scope) => [operation.operationId, scope, operation] as const),
  );

  const tokens: Partial<Record<Scope, string>> = {};
  beforeAll(async () => {
    for (const scope of SCOPES) tokens[scope] = (await create(ada, [scope])).access_token;
  });

  test('is one of the contract, and each scope allows something', () => {
    const used = new Set(accepting.flatMap(({ scope }) => scope ?? []));
    expect([...used].toSorted()).toEqual(SCOPES.toSorted());
    const { enum: declared } = contract.components.schemas.Scope ?? {};
    expect(declared).toEqual(SCOPES);
  });

  test('is in its description', () => {
    for (const { operationId, path, method, scope } of accepting) {
      const { description } = Object(contract.paths[path])[method.toLowerCase()] as Record<
        string,
        string
      >;
      const sentence = scope
        ? `Access tokens of programs need the scope \`${scope}\`.`
        : 'Access tokens of programs are not accepted.';
      expect(description, operationId).toContain(sentence);
    }
  });

  test.each([
    'changePassword',
    'changeEmail',
    'deleteAccount',
    'logout',
    'listSessions',
    'endSession',
    'listTokens',
    'createToken',
    'revokeToken',
  ])('is none for %s', (id) => {
    expect(operations.find(({ operationId }) => operationId === id)?.scope).toBeUndefined();
  });

  test.each(cells)(
    'of %s decides about programs with the scope %s',
    async (_, scope, operation) => {
      const { url, init } = exampleRequest(operation);
      const response = await app.fetch(url, {
        ...init,
        headers: { ...(init.headers as object), authorization: `Bearer ${tokens[scope]}` },
      });
      const { code } = await response.json();
      if (operation.scope === undefined) expect(code).toBe('session_required');
      else if (operation.scope === scope) {
        expect(['insufficient_scope', 'session_required', 'unauthenticated']).not.toContain(code);
      } else {
        expect(code).toBe('insufficient_scope');
        expect(response.headers.get('www-authenticate')).toBe(
          `Bearer error="insufficient_scope", scope="${operation.scope}"`,
        );
      }
    },
  );
});

describe('createToken', () => {
  test('returns the token once, and stores only its hash', async () => {
    const user = await app.register();
    const token = await create(user, ['read', 'write', 'read']);
    expect(token).toMatchObject({ name: 'Bot', scopes: ['read', 'write'], last_used_at: null });
    expect(token.access_token).toMatch(/^spt_[\w-]{43}$/);
    const rows = await app.context.engine.db.selectFrom('sessions').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(token.access_token);
    const { data } = await api.listTokens({ client: user.client, throwOnError: true });
    const { access_token: _, ...summary } = token;
    expect(data.items).toEqual([summary]);
    const { data: download } = await api.downloadAccountData({ client: user.client });
    expect(download?.tokens).toEqual([summary]);
    expect(download?.sessions).toHaveLength(1);
  });

  test.each([
    ['2020-01-01T00:00:00Z', 'in the past'],
    ['2100-02-30T00:00:00Z', 'of no calendar'],
  ])('rejects %s, a time %s', async (expires_at) => {
    const body = { name: 'Bot', scopes: ['read' as const], expires_at };
    const { error } = await api.createToken({ client: ada.client, body });
    expect(error).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/expires_at', message: 'must be a time in the future' }],
    });
  });

  test.each([
    ['2100-03-01T00:00:00+00:00', '2100-03-01T00:00:00.000Z'],
    ['2100-03-01T00:30:00.123456789+01:00', '2100-02-28T23:30:00.123Z'],
    ['2100-02-28T23:30:00.5Z', '2100-02-28T23:30:00.500Z'],
  ])('accepts the notation %s', async (expires_at, expected) => {
    expect((await create(ada, ['read'], expires_at)).expires_at).toBe(expected);
  });

  test('keeps the number of tokens within MAX_TOKENS, and does not count those that have expired', async () => {
    await using small = await startApp({ MAX_TOKENS: '2', MAX_SESSIONS: '1' });
    const user = await small.register();
    const expired = await create(user);
    await create(user);
    const body = { name: 'Bot', scopes: ['read' as const] };
    const third = () => api.createToken({ client: user.client, body });
    expect((await third()).error).toMatchObject({ status: 409, code: 'quota_exceeded' });
    await small.context.engine.db
      .updateTable('sessions')
      .set({ expires_at: '2020-01-01T00:00:00.000Z' })
      .where('session_id', '=', expired.token_id)
      .execute();
    expect((await third()).response?.status).toBe(201);
    // Neither does a login end one, although it ends the other session.
    const { email, password } = user;
    await api.login({ client: small.client(), body: { email, password }, throwOnError: true });
    const rows = await small.context.engine.db
      .selectFrom('sessions')
      .select('session_id')
      .execute();
    expect(rows).toHaveLength(4);
  });
});

describe('An access token of a program', () => {
  test('shows when it was last used', async () => {
    const user = await app.register();
    const token = await create(user);
    await statusOf(token);
    const lastUsed = async () =>
      (await api.listTokens({ client: user.client, throwOnError: true })).data.items[0]
        ?.last_used_at;
    await expect.poll(async () => ((await lastUsed()) ?? '') > token.created_at).toBe(true);
  });

  test('works until it expires, and is then deleted', async () => {
    const user = await app.register();
    const [expiring, lasting] = [
      await create(user, ['read'], new Date(Date.now() + 3_600_000).toISOString()),
      await create(user),
    ];
    const { db } = app.context.engine;
    const long = '2020-01-01T00:00:00.000Z';
    await db
      .updateTable('sessions')
      .set({ created_at: long, last_used_at: long })
      .where('session_id', 'in', [expiring.token_id, lasting.token_id])
      .execute();
    // The lifetimes of sessions do not apply.
    expect([await statusOf(expiring), await statusOf(lasting)]).toEqual([200, 200]);
    await db
      .updateTable('sessions')
      .set({ expires_at: new Date().toISOString() })
      .where('session_id', '=', expiring.token_id)
      .execute();
    expect(await statusOf(expiring)).toBe(401);
    await deleteExpiredSessions(app.context.engine, app.context.config.sessions);
    const left = await db
      .selectFrom('sessions')
      .select('session_id')
      .where('session_id', 'in', [expiring.token_id, lasting.token_id])
      .execute();
    expect(left).toEqual([{ session_id: lasting.token_id }]);
  });

  test('outlives the sessions and a changed password of its owner, but not a reset one', async () => {
    const user = await app.register();
    const token = await create(user);
    const { client, email, password } = user;
    const body = { currentPassword: password, newPassword: 'staple of the north wind' };
    await api.changePassword({ client, body, throwOnError: true });
    await api.logout({ client, query: { everywhere: true }, throwOnError: true });
    expect(await statusOf(token)).toBe(200);
    await setPassword(app.context, email, password);
    expect(await statusOf(token)).toBe(401);
  });

  test('reads invitation codes only with the scope moderate', async () => {
    const { space_id, invitation_code } = await createSpace(ada, { visibility: 'private' });
    const read = async (scopes: Scope[]) => {
      const client = app.client((await create(ada, scopes)).access_token);
      const { data } = await api.getSpace({ client, path: { space_id }, throwOnError: true });
      return data.invitation_code;
    };
    expect(await read(['read', 'write', 'profile'])).toBeNull();
    expect(await read(['read', 'moderate'])).toBe(invitation_code);
  });

  test('ends with a suspension and with the account', async () => {
    const [suspended, deleted] = [await app.register(), await app.register()];
    const tokens = [await create(suspended), await create(deleted)];
    await suspendAccount(app.context.engine, suspended.userId);
    await api.deleteAccount({ client: deleted.client, throwOnError: true });
    expect(await Promise.all(tokens.map(statusOf))).toEqual([401, 401]);
  });

  const ends = {
    'is revoked': ({ token_id }: CreatedToken) =>
      api.revokeToken({ client: ada.client, path: { token_id }, throwOnError: true }),
    expires: ({ token_id }: CreatedToken) =>
      app.context.engine.db
        .updateTable('sessions')
        .set({ expires_at: new Date().toISOString() })
        .where('session_id', '=', token_id)
        .execute(),
  };
  test.each(
    (['listMessages', 'listParticipations'] as const).flatMap((operation) =>
      (['is revoked', 'expires'] as const).map((event) => ({ operation, event })),
    ),
  )('that $event ends a $operation that waits in another process', async (of) => {
    await using other = await startApp({}, { sharesDataOf: app });
    const { space_id } = await createSpace(ada);
    const token = await create(ada);
    const client = other.client(token.access_token);
    const read = async (query: { after?: string; wait?: number }) =>
      of.operation === 'listMessages'
        ? api.listMessages({ client, query: { ...query, space_id } })
        : api.listParticipations({ client, query });
    // Some lists begin to be followed at their first page.
    const { data } = await read({});
    const after = (data as { newer_cursor?: string }).newer_cursor as string;
    const waiting = read({ after, wait: 25 });
    await expect.poll(() => other.context.waits.count).toBe(1);
    await ends[of.event](token);
    const endedAt = performance.now();
    expect((await waiting).response?.status).toBe(401);
    // Polls find it within a second. The rest is for busy machines.
    expect(performance.now() - endedAt).toBeLessThan(5_000);
  });

  test('needs the scope moderate, too, to delete messages of others', async () => {
    const space = await createSpace(ada);
    const bob = await app.register();
    await joinSpace(bob, space);
    const [own, other] = [
      await sendMessage(ada, space, 'Of the owner'),
      await sendMessage(bob, space, 'Of another user'),
    ];
    const remove = async (scopes: Scope[], { message_id }: Message) => {
      const { access_token } = await create(ada, scopes);
      return api.deleteMessage({ client: app.client(access_token), path: { message_id } });
    };
    const { error, response } = await remove(['write'], other);
    expect(error).toMatchObject({ code: 'insufficient_scope' });
    expect(response?.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="moderate"',
    );
    expect((await remove(['write'], own)).response?.status).toBe(200);
    expect((await remove(['write', 'moderate'], other)).response?.status).toBe(200);
  });

  test('has a limit of reads apart from that of its owner', async () => {
    await using limited = await startApp({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '3' });
    const user = await limited.register();
    const { access_token } = await create(user);
    const statuses = async (client: TestUser['client']) => {
      const responses = [];
      for (let i = 0; i < 4; i += 1) responses.push(await api.getProfile({ client }));
      return responses.map(({ response }) => response?.status);
    };
    expect(await statuses(limited.client(access_token))).toEqual([200, 200, 200, 429]);
    expect(await statuses(user.client)).toEqual([200, 200, 200, 429]);
  });
});
