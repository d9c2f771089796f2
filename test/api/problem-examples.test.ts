import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request as openRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Message, Problem, Space } from '../../generated/types.gen.ts';
import { setEmail } from '../../server/account-lifecycle/email-change.ts';
import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { importRecords } from '../../server/import-export/import.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { databaseError, UNAVAILABLE_CODES, UNEXPECTED_CODE } from '../support/databases.ts';
import { type Failure, failingEngine } from '../support/failing-engine.ts';
import { firstOfTwo } from '../support/first-of-two.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { toLines } from '../support/ndjson.ts';
import { openapi } from '../support/openapi.ts';
import { head, sendRaw, validateRaw } from '../support/raw.ts';
import { createSpace, joinSpace, sendMessage, spaceCreation } from '../support/spaces.ts';

interface ResponseObject {
  content?: Record<string, { example?: Problem; examples?: Record<string, { value: Problem }> }>;
}

interface OperationObject {
  operationId?: string;
  responses?: Record<string, ResponseObject>;
}

const contract: {
  paths: Record<string, Record<string, OperationObject>>;
  components: { responses: Record<string, ResponseObject> };
} = openapi;

/** Every problem example in the contract, by the name of its response. */
const examples = new Map<string, Problem>();
for (const [name, response] of Object.entries(contract.components.responses)) {
  addExamples(name, response);
}
for (const item of Object.values(contract.paths)) {
  for (const { operationId, responses = {} } of Object.values(item)) {
    for (const [status, response] of Object.entries(responses)) {
      addExamples(`${operationId} ${status}`, response);
    }
  }
}

function addExamples(name: string, { content }: ResponseObject): void {
  const { example, examples: named = {} } = content?.['application/problem+json'] ?? {};
  if (example) examples.set(name, example);
  for (const [key, { value }] of Object.entries(named)) examples.set(`${name} ${key}`, value);
}

let app: TestApp;
/** An app with a rate limit of one public read, and with short time limits. */
let limitedApp: TestApp;
/** An app that sends mail through `mailServer`. */
let mailApp: TestApp;
let mailServer: MailServer;
let failure: Failure | undefined;
let ada: TestUser;
let bob: TestUser;
let space: Space;
/** A private space of `ada` with a message of `bob`. */
let privateSpace: Space;
let message: Message;

beforeAll(async () => {
  app = await startApp({}, { engine: (real) => failingEngine(real, () => failure) });
  limitedApp = await startApp(
    { RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '1' },
    { limits: { requestTimeoutMs: 300, headersTimeoutMs: 300, connectionCheckIntervalMs: 50 } },
  );
  mailServer = await startMailServer();
  mailApp = await startApp(mailServer.settings);
  ada = await app.register('ada');
  bob = await app.register('bob');
  space = await createSpace(ada);
  message = await sendMessage(ada, space, 'Hello');
  privateSpace = await createSpace(ada, { visibility: 'private' });
  await joinSpace(bob, privateSpace);
  await sendMessage(bob, privateSpace, 'Hello');
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await limitedApp[Symbol.asyncDispose]();
  await mailApp[Symbol.asyncDispose]();
  await mailServer[Symbol.asyncDispose]();
});

const sendJson = (
  method: string,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> =>
  app.fetch(path, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const changePassword = (currentPassword: string, newPassword: string): Promise<Response> =>
  sendJson('PUT', '/api/profile/password', { currentPassword, newPassword }, ada.headers);

const uploadAvatar = (avatar?: Blob): Promise<Response> => {
  const body = new FormData();
  if (avatar) body.set('avatar', avatar, 'avatar.png');
  return app.fetch('/api/profile/picture', { method: 'PUT', headers: ada.headers, body });
};

const uploadText = (type: string): Promise<Response> =>
  app.fetch('/api/profile/picture', {
    method: 'PUT',
    headers: { ...ada.headers, 'content-type': type },
    body: 'text',
  });

/** Eight code points, but four after normalisation to NFC. */
const DECOMPOSED = 'e\u0301'.repeat(4);

const withKey = ({ headers }: TestUser) => ({ ...headers, 'idempotency-key': randomUUID() });

const sendText = (text: string, headers: Record<string, string>): Promise<Response> =>
  sendJson('POST', '/api/messages', { space_id: space.space_id, text }, headers);

const editText = (headers: Record<string, string>): Promise<Response> =>
  sendJson('PATCH', `/api/messages/${message.message_id}`, { text: 'Hello' }, headers);

/** Sends a request of `ada` twice at the same time. Returns the first response. */
const sendTwice = (send: (headers: Record<string, string>) => Promise<Response>) => {
  const headers = withKey(ada);
  return firstOfTwo(app.context.engine, () => send(headers));
};

const appoint = ({ userId }: Pick<TestUser, 'userId'>, space_id = space.space_id) =>
  app.fetch(`/api/moderators/${space_id}/${userId}`, { method: 'PUT', headers: ada.headers });

const removeFromSpace = ({ userId }: TestUser): Promise<Response> =>
  app.fetch(`/api/removals/${space.space_id}/${userId}`, { method: 'PUT', headers: ada.headers });

const markRead = (space_id: string, message_id?: string, { headers } = ada): Promise<Response> =>
  sendJson('PUT', `/api/participations/${space_id}/read`, { message_id }, headers);

const sendWithFailure = async (code: string): Promise<Response> => {
  failure = { error: databaseError('example', code), after: 0 };
  try {
    return await app.fetch('/api/spaces/search?q=tea');
  } finally {
    failure = undefined;
  }
};

const sendJsonWithMail = (method: string, path: string, body: object, user?: TestUser) =>
  mailApp.fetch(path, {
    method,
    headers: { ...user?.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const changeEmail = async (email: string, currentPassword?: string) => {
  const user = await mailApp.register();
  const body = { email, currentPassword: currentPassword ?? user.password };
  return sendJsonWithMail('PUT', '/api/profile/email', body, user);
};

/** Resets the password of a new account. */
const resetPassword = async (newPassword: string) => {
  const { email } = await mailApp.register();
  await sendJsonWithMail('POST', '/api/auth/password-resets', { email });
  const { token } = await mailServer.receive(email, 'reset-password');
  return sendJsonWithMail('PUT', '/api/auth/password-resets', {
    token,
    newPassword: newPassword || email,
  });
};

/** Sends a request of a user whose address is not verified. */
const whileUnverified = async (method: string, path: string, body?: object) => {
  await using strict = await startApp({ REQUIRE_VERIFIED_EMAIL: 'on' });
  const { headers } = await strict.register();
  const response = await strict.fetch(path, {
    method,
    ...(body && { body: JSON.stringify(body) }),
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
  });
  // Before the server stops.
  return new Response(await response.text(), response);
};

const createToken = (headers: TestUser['headers'], scopes = ['read']): Promise<Response> =>
  sendJson('POST', '/api/tokens', { name: 'Bot', scopes }, headers);

/** Sends a request with the access token of a program that lacks the scope of the operation. */
const asProgram = async (method: string, path: string, body?: object): Promise<Response> => {
  const scope = method === 'GET' ? 'write' : 'read';
  const { access_token } = await (await createToken(ada.headers, [scope])).json();
  return app.fetch(path, {
    method,
    headers: {
      authorization: `Bearer ${access_token}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
};

/** For each example, a request that provokes the response. */
const requests: Record<string, () => Promise<Response>> = {
  InvalidReport: () => sendJson('PUT', `/api/reports/spaces/${space.space_id}`, {}, ada.headers),
  InvalidSpaceId: () => app.fetch('/api/spaces/~'),
  InvalidMessageId: () => app.fetch('/api/messages/~', { method: 'DELETE', headers: ada.headers }),
  InvalidUserId: () => app.fetch('/api/users/~', { headers: ada.headers }),
  InsufficientScope: () => asProgram('GET', '/api/profile/me'),
  SessionRequired: () => asProgram('GET', '/api/auth/sessions'),
  'NotSpaceCreator insufficient_scope': () => asProgram('DELETE', '/api/spaces/x'),
  'NotSpaceModerator insufficient_scope': () => asProgram('GET', '/api/removals?space_id=x'),
  'removeParticipant 403 insufficient_scope': () => asProgram('PUT', '/api/removals/x/x'),
  'EmailNotVerified insufficient_scope': () =>
    asProgram('PUT', '/api/profile/bio', { bio: 'Hello' }),
  'MailDisabledOrSessionRequired session_required': () =>
    asProgram('POST', '/api/profile/email-verification'),
  'MailDisabledOrSessionRequired mail_disabled': () =>
    app.fetch('/api/profile/email-verification', { method: 'POST', headers: ada.headers }),
  'changePassword 403 session_required': () => asProgram('PUT', '/api/profile/password', {}),
  'changeEmail 403 session_required': () => asProgram('PUT', '/api/profile/email', {}),
  'joinSpace 403 insufficient_scope': () => asProgram('PUT', '/api/participations/x', {}),
  'markRead 403 insufficient_scope': () => asProgram('PUT', '/api/participations/x/read', {}),
  'sendMessage 403 insufficient_scope': () => asProgram('POST', '/api/messages', {}),
  'editMessage 403 insufficient_scope': () => asProgram('PATCH', '/api/messages/x', {}),
  'deleteMessage 403 insufficient_scope': () => asProgram('DELETE', '/api/messages/x'),
  'appreciateMessage 403 insufficient_scope': () =>
    asProgram('PUT', '/api/messages/x/appreciation'),
  'createToken 400': () =>
    sendJson('POST', '/api/tokens', { name: 'Bot', scopes: [] }, ada.headers),
  'createToken 409': async () => {
    const { headers } = await app.register();
    // The default of MAX_TOKENS.
    for (let i = 0; i < 50; i += 1) await createToken(headers);
    return createToken(headers);
  },
  'revokeToken 400': () => app.fetch('/api/tokens/~', { method: 'DELETE', headers: ada.headers }),
  'revokeToken 404': () => app.fetch('/api/tokens/x', { method: 'DELETE', headers: ada.headers }),
  'endSession 400': () =>
    app.fetch('/api/auth/sessions/~', { method: 'DELETE', headers: ada.headers }),
  'login 400': () => sendJson('POST', '/api/auth/login', { email: ada.email }),
  'createSpace 400': () => {
    const { title: _title, ...creation } = spaceCreation();
    return sendJson('POST', '/api/spaces', creation, ada.headers);
  },
  'updateSpace 400': () =>
    sendJson('PATCH', `/api/spaces/${space.space_id}`, { visibility: 'hidden' }, ada.headers),
  'joinSpace 400': () =>
    sendJson('PUT', `/api/participations/${space.space_id}`, { invitation_code: '' }, bob.headers),
  'sendMessage 400': () =>
    sendJson('POST', '/api/messages', { space_id: space.space_id }, ada.headers),
  'logout 400': () =>
    app.fetch('/api/auth/logout?everywhere=perhaps', { method: 'POST', headers: ada.headers }),
  'InvalidPageRequest invalid_request': () => app.fetch('/api/spaces/search?q=tea&limit=101'),
  'InvalidPageRequest invalid_cursor': () => app.fetch('/api/spaces/search?q=tea&cursor=x'),
  Unauthenticated: () => app.fetch('/api/profile/me'),
  'NotSpaceCreator not_space_creator': () =>
    app.fetch(`/api/spaces/${space.space_id}`, { method: 'DELETE', headers: bob.headers }),
  SpaceNotFound: () => app.fetch('/api/spaces/unknown'),
  MessageNotFound: () =>
    app.fetch('/api/messages/unknown', { method: 'DELETE', headers: ada.headers }),
  'joinSpace 409': async () => {
    const { userId, headers } = await app.register();
    // The default of MAX_PARTICIPATIONS. The creator of a space participates in it.
    const spaces = Array.from({ length: 2000 }, (_, i) => ({
      type: 'space',
      creator_id: userId,
      title: `Tea ${i}`,
    }));
    await importRecords(app.context.engine, toLines(spaces));
    return app.fetch(`/api/participations/${space.space_id}`, { method: 'PUT', headers });
  },
  'createSpace 404': async () => {
    const headers = withKey(bob);
    const create = () => sendJson('POST', '/api/spaces', spaceCreation(), headers);
    const { space_id } = await (await create()).json();
    await app.fetch(`/api/spaces/${space_id}`, { method: 'DELETE', headers });
    return create();
  },
  'createSpace 409 idempotency_key_in_use': () =>
    sendTwice((headers) => sendJson('POST', '/api/spaces', spaceCreation(), headers)),
  'sendMessage 409': () => sendTwice((headers) => sendText('Hello', headers)),
  IdempotencyKeyReused: async () => {
    const headers = withKey(ada);
    await sendText('Hello', headers);
    return sendText('Goodbye', headers);
  },
  'sendMessage 404 space_not_found': () =>
    sendJson('POST', '/api/messages', { space_id: 'unknown', text: 'Hello' }, ada.headers),
  'sendMessage 404 message_not_found': async () => {
    const headers = withKey(ada);
    const { message_id } = await (await sendText('Hello', headers)).json();
    await app.fetch(`/api/messages/${message_id}`, { method: 'DELETE', headers });
    return sendText('Hello', headers);
  },
  'listMessages 404 space_not_found': () => app.fetch('/api/messages?space_id=unknown'),
  'listMessages 404 message_not_found': () =>
    app.fetch(`/api/messages?space_id=${space.space_id}&around=unknown`),
  'createSpace 409 quota_exceeded': async () => {
    // With `space` and `privateSpace`, 1,000: the default of MAX_SPACES.
    const spaces = Array.from({ length: 998 }, (_, i) => ({
      type: 'space',
      creator_id: ada.userId,
      title: `Tea ${i}`,
    }));
    await importRecords(app.context.engine, toLines(spaces));
    return sendJson('POST', '/api/spaces', spaceCreation(), ada.headers);
  },
  'UsernameTaken username_taken': () =>
    sendJson('PUT', '/api/profile/username', { username: 'Bob' }, ada.headers),
  'UsernameTaken username_reserved': () =>
    sendJson('PUT', '/api/profile/username', { username: 'admin' }, ada.headers),
  RequestTimeout: async () => {
    const { url } = limitedApp;
    const headers = { 'content-type': 'application/json', 'content-length': 100 };
    const upload = openRequest(`${url}/api/auth/login`, { method: 'POST', headers });
    // The server closes the connection after its response, which can also cause an error on the pending request.
    upload.on('error', () => {});
    upload.write('{');
    const [response] = (await once(upload, 'response')) as [IncomingMessage];
    return new Response(await text(response), { status: response.statusCode ?? 0 });
  },
  BodyTooLarge: () => sendJson('PUT', '/api/profile/bio', { bio: 'a'.repeat(32_768) }, ada.headers),
  UnsupportedMediaType: () =>
    app.fetch('/api/profile/bio', { method: 'PUT', headers: ada.headers, body: 'text' }),
  TooManyRequests: async () => {
    await limitedApp.fetch('/api/spaces/search?q=tea');
    return limitedApp.fetch('/api/spaces/search?q=tea');
  },
  HeadersTooLarge: async () => {
    const path = `/api/spaces/tag/${'x'.repeat(16_384)}`;
    const response = validateRaw('GET', app.url + path, await sendRaw(app.url, head('GET', path)));
    return new Response(response.body, { status: response.status });
  },
  Internal: () => sendWithFailure(UNEXPECTED_CODE),
  Unavailable: () => sendWithFailure(UNAVAILABLE_CODES[0]),

  'searchSpacesByTag 404': () => app.fetch('/api/spaces/tag/'),
  'changeUsername 400 invalid_request': () =>
    sendJson('PUT', '/api/profile/username', { username: 'a' }, ada.headers),
  'changeUsername 400 username_invalid': () =>
    sendJson('PUT', '/api/profile/username', { username: 'ada!' }, ada.headers),
  'changeBio 400 invalid_request': () => sendJson('PUT', '/api/profile/bio', {}, ada.headers),
  'changeBio 400 bio_invalid': () =>
    sendJson('PUT', '/api/profile/bio', { bio: 'a'.repeat(501) }, ada.headers),
  'changeProfilePicture 400 avatar_missing': () => uploadAvatar(),
  'changeProfilePicture 400 invalid_request': () => uploadText('multipart/form-data; boundary=x'),
  'changeProfilePicture 413': () => uploadAvatar(new Blob([new Uint8Array(5_242_881)])),
  'changeProfilePicture 415 avatar_type_unsupported': () => uploadAvatar(new Blob(['text'])),
  'changeProfilePicture 415 unsupported_media_type': () => uploadText('text/plain'),
  'changeProfilePicture 422': async () => uploadAvatar((await avatarFile()).slice(0, -40)),
  MailDisabled: () => sendJson('POST', '/api/auth/password-resets', { email: ada.email }),
  'changeEmail 400': () => changeEmail('ada'),
  'changeEmail 403 current_password_incorrect': () => changeEmail('new@example.com', 'wrong'),
  'changeEmail 403 mail_disabled': () =>
    sendJson(
      'PUT',
      '/api/profile/email',
      { email: 'new@example.com', currentPassword: ada.password },
      ada.headers,
    ),
  'changeEmail 409': async () => changeEmail((await mailApp.register()).email),
  'requestPasswordReset 400': () => sendJson('POST', '/api/auth/password-resets', { email: 'ada' }),
  'resetPassword 400 invalid_request': () => resetPassword('short'),
  'resetPassword 400 invalid_token': () =>
    sendJson('PUT', '/api/auth/password-resets', { token: 'unknown', newPassword: DECOMPOSED }),
  'resetPassword 400 password_invalid': () => resetPassword(DECOMPOSED),
  'resetPassword 400 password_too_common': () => resetPassword('password'),
  'resetPassword 400 password_names_you': () => resetPassword(''),
  'verifyEmail 400 invalid_request': () => sendJson('PUT', '/api/auth/email-verifications', {}),
  'verifyEmail 400 invalid_token': () =>
    sendJson('PUT', '/api/auth/email-verifications', { token: 'unknown' }),
  'verifyEmail 409': async () => {
    const email = 'taken.later@example.com';
    await changeEmail(email);
    const { token } = await mailServer.receive(email);
    await setEmail(mailApp.context, (await mailApp.register()).userId, email);
    return sendJsonWithMail('PUT', '/api/auth/email-verifications', { token });
  },
  'changePassword 400 invalid_request': () => changePassword(ada.password, 'short'),
  'changePassword 400 password_invalid': () => changePassword(ada.password, DECOMPOSED),
  'changePassword 400 password_names_you': () => changePassword(ada.password, ada.email),
  'changePassword 400 password_too_common': () => changePassword(ada.password, 'password'),
  'changePassword 403 current_password_incorrect': () =>
    changePassword('wrong', 'staple of the north wind'),
  'register 400 invalid_request': () =>
    sendJson('POST', '/api/auth/register', { ...newAccount, password: 'short' }),
  'register 400 username_invalid': () =>
    sendJson('POST', '/api/auth/register', { ...newAccount, username: 'ada!' }),
  'register 400 password_invalid': () =>
    sendJson('POST', '/api/auth/register', { ...newAccount, password: DECOMPOSED }),
  'register 400 password_too_common': () =>
    sendJson('POST', '/api/auth/register', { ...newAccount, password: 'password' }),
  'register 400 password_names_you': () =>
    sendJson('POST', '/api/auth/register', { ...newAccount, password: newAccount.email }),
  'register 409 username_taken': () =>
    sendJson('POST', '/api/auth/register', { ...newAccount, username: 'ada' }),
  'register 409 username_reserved': () =>
    sendJson('POST', '/api/auth/register', { ...newAccount, username: 'admin' }),
  'register 409 email_taken': () =>
    sendJson('POST', '/api/auth/register', { ...newAccount, email: ada.email }),
  'register 403': async () => {
    await using closed = await startApp({ REGISTRATION: 'closed' });
    const response = await closed.fetch('/api/auth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(newAccount),
    });
    return new Response(await response.text(), { status: response.status });
  },
  'login 403': async () => {
    const { email, password } = await app.register('suspended');
    await suspendAccount(app.context.engine, email);
    return sendJson('POST', '/api/auth/login', { email, password });
  },
  'login 401': () =>
    sendJson('POST', '/api/auth/login', { email: ada.email, password: 'wrong password' }),
  'updateSpace 409 quota_exceeded': async () => {
    const { userId, headers } = await app.register();
    const space = { type: 'space', creator_id: userId, title: 'Tea' };
    // 5,000 tags in total: the default of MAX_TAGS.
    const spaces = Array.from({ length: 500 }, (_, i) => ({
      ...space,
      title: `Tea ${i}`,
      tags: Array.from({ length: 10 }, (_, tag) => `${i} ${tag}`),
    }));
    await importRecords(
      app.context.engine,
      toLines([...spaces, { ...space, space_id: 'no-tags' }]),
    );
    return sendJson('PATCH', '/api/spaces/no-tags', { tags: ['tea'] }, headers);
  },
  'updateSpace 409 space_cannot_become_public': () =>
    sendJson(
      'PATCH',
      `/api/spaces/${privateSpace.space_id}`,
      { visibility: 'public' },
      ada.headers,
    ),
  'updateSpace 412': () =>
    sendJson(
      'PATCH',
      `/api/spaces/${space.space_id}`,
      { title: 'Tea' },
      { ...ada.headers, 'if-match': '"0-AAAAAAAAAAAAAAAA"' },
    ),
  'updateSpace 409 idempotency_key_in_use': () =>
    sendTwice((headers) =>
      sendJson('PATCH', `/api/spaces/${space.space_id}`, { title: 'Tea' }, headers),
    ),
  'renewInvitationCode 409 idempotency_key_in_use': () =>
    sendTwice((headers) =>
      app.fetch(`/api/spaces/${privateSpace.space_id}/invitation-code`, {
        method: 'POST',
        headers,
      }),
    ),
  'renewInvitationCode 409 space_is_public': () =>
    app.fetch(`/api/spaces/${space.space_id}/invitation-code`, {
      method: 'POST',
      headers: ada.headers,
    }),
  'joinSpace 404': () =>
    sendJson('PUT', '/api/participations/unknown', { invitation_code: 'wrong' }, bob.headers),
  'EmailNotVerified email_not_verified': () =>
    whileUnverified('PUT', '/api/profile/bio', { bio: '' }),
  'joinSpace 403 email_not_verified': () => whileUnverified('PUT', '/api/participations/x', {}),
  'sendMessage 403 email_not_verified': () =>
    whileUnverified('POST', '/api/messages', { space_id: 'x', text: 'Hello' }),
  'editMessage 403 email_not_verified': () =>
    whileUnverified('PATCH', '/api/messages/x', { text: 'Hello' }),
  'appreciateMessage 403 email_not_verified': () =>
    whileUnverified('PUT', '/api/messages/x/appreciation'),
  'joinSpace 403 removed_from_space': async () => {
    const removed = await app.register();
    await joinSpace(removed, space);
    await removeFromSpace(removed);
    return app.fetch(`/api/participations/${space.space_id}`, {
      method: 'PUT',
      headers: removed.headers,
    });
  },
  'getParticipation 404': () =>
    app.fetch(`/api/participations/${space.space_id}`, { headers: bob.headers }),
  'removeParticipant 404 participant_not_found': async () => removeFromSpace(bob),
  'removeParticipant 404 space_not_found': () =>
    app.fetch(`/api/removals/unknown/${bob.userId}`, { method: 'PUT', headers: ada.headers }),
  'removeParticipant 409': async () => removeFromSpace(ada),
  'removeParticipant 403 not_space_moderator': () =>
    app.fetch(`/api/removals/${space.space_id}/${ada.userId}`, {
      method: 'PUT',
      headers: bob.headers,
    }),
  'removeParticipant 403 not_space_creator': async () => {
    const [moderator, other] = [await app.register(), await app.register()];
    for (const user of [moderator, other]) {
      await joinSpace(user, space);
      await appoint(user);
    }
    return app.fetch(`/api/removals/${space.space_id}/${other.userId}`, {
      method: 'PUT',
      headers: moderator.headers,
    });
  },
  'NotSpaceModerator not_space_moderator': () =>
    app.fetch(`/api/removals?space_id=${space.space_id}`, { headers: bob.headers }),
  'ParticipantNotFound participant_not_found': () => appoint(bob),
  'ParticipantNotFound space_not_found': () => appoint(bob, 'unknown'),
  'appointModerator 409': async () => {
    const users = Array.from({ length: 51 }, (_, i) => ({
      type: 'user',
      user_id: `moderator-${i}`,
      username: `moderator ${i}`,
      email: `moderator-${i}@example.org`,
    }));
    const participants = users.map(({ user_id }, i) => ({
      type: 'participant',
      space_id: privateSpace.space_id,
      user_id,
      is_moderator: i < 50,
    }));
    await importRecords(app.context.engine, toLines([...users, ...participants]));
    return appoint({ userId: 'moderator-50' }, privateSpace.space_id);
  },
  'updateParticipation 400': () =>
    sendJson('PATCH', `/api/participations/${space.space_id}`, {}, ada.headers),
  'updateParticipation 404': () =>
    sendJson('PATCH', `/api/participations/${space.space_id}`, { muted: true }, bob.headers),
  'markRead 400': () => markRead(space.space_id, undefined),
  'markRead 403 not_a_participant': () => markRead(space.space_id, 'unknown', bob),
  'markRead 404 space_not_found': () => markRead('unknown', 'unknown'),
  'markRead 404 message_not_found': () => markRead(space.space_id, 'unknown'),
  'leaveSpace 409': () =>
    app.fetch(`/api/participations/${space.space_id}`, { method: 'DELETE', headers: ada.headers }),
  'sendMessage 403 space_is_read_only': async () => {
    const { space_id } = await createSpace(await app.register(), { posting: 'moderators' });
    await joinSpace(bob, { space_id });
    return sendJson('POST', '/api/messages', { space_id, text: 'Hello' }, bob.headers);
  },
  'editMessage 403 space_is_read_only': async () => {
    const creator = await app.register();
    const readOnly = await createSpace(creator);
    await joinSpace(bob, readOnly);
    const { message_id } = await sendMessage(bob, readOnly, 'Hello');
    const path = `/api/spaces/${readOnly.space_id}`;
    await sendJson('PATCH', path, { posting: 'moderators' }, creator.headers);
    return sendJson('PATCH', `/api/messages/${message_id}`, { text: 'Bye' }, bob.headers);
  },
  'sendMessage 403 not_a_participant': () =>
    sendJson('POST', '/api/messages', { space_id: space.space_id, text: 'Hello' }, bob.headers),
  'editMessage 400': () =>
    sendJson('PATCH', `/api/messages/${message.message_id}`, {}, ada.headers),
  'editMessage 403 not_message_author': () => editText(bob.headers),
  'editMessage 403 not_a_participant': async () => {
    const author = await app.register();
    await joinSpace(author, space);
    const { message_id } = await sendMessage(author, space, 'Hello');
    await removeFromSpace(author);
    return sendJson('PATCH', `/api/messages/${message_id}`, { text: 'Bye' }, author.headers);
  },
  'editMessage 409': () => sendTwice((headers) => editText(headers)),
  'editMessage 412': () => editText({ ...ada.headers, 'if-match': '"0-AAAAAAAAAAAAAAAA"' }),
  'deleteMessage 403 not_message_author': () =>
    app.fetch(`/api/messages/${message.message_id}`, { method: 'DELETE', headers: bob.headers }),
  'blockUser 403 insufficient_scope': () => asProgram('PUT', '/api/blocks/x'),
  'blockUser 403 own_account': () =>
    app.fetch(`/api/blocks/${bob.userId}`, { method: 'PUT', headers: bob.headers }),
  'appreciateMessage 403 own_message': () =>
    app.fetch(`/api/messages/${message.message_id}/appreciation`, {
      method: 'PUT',
      headers: ada.headers,
    }),
  'endSession 404': () =>
    app.fetch('/api/auth/sessions/unknown', { method: 'DELETE', headers: ada.headers }),
  TooManyReports: async () => {
    const { headers } = await app.register();
    const body = { reason: 'Spam' };
    for (let i = 0; i < 20; i += 1) {
      const { message_id } = await sendMessage(ada, space, 'Hello');
      await sendJson('PUT', `/api/reports/messages/${message_id}`, body, headers);
    }
    return sendJson('PUT', `/api/reports/spaces/${space.space_id}`, body, headers);
  },
  UserNotFound: () => app.fetch('/api/users/unknown', { headers: ada.headers }),
};

const newAccount = {
  username: 'carol',
  email: 'carol@example.com',
  password: 'correct horse battery',
};

test('this file has a request for every problem example in the contract', () => {
  expect(Object.keys(requests).sort()).toEqual([...examples.keys()].sort());
});

test.each([...examples])(
  'the response matches the example in the contract: %s',
  async (name, example) => {
    const send = requests[name] as () => Promise<Response>;
    const response = await send();
    const { request_id: _sentId, ...sent } = (await response.json()) as Problem;
    const { request_id: _exampleId, ...expected } = example;
    if (name === 'TooManyRequests') {
      // The example says 12 seconds. The actual number depends on the time of the request.
      const seconds = String(response.headers.get('retry-after'));
      expected.detail = expected.detail.replace('12', seconds);
    }
    expect(sent).toEqual(expected);
    expect(response.status).toBe(example.status);
  },
);
