// Uses every important operation with the generated client. See ../README.md for the steps.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Window } from 'happy-dom';
import createFetchClient from 'openapi-fetch';
import createClient from 'openapi-react-query';
import { createElement } from 'react';
import type { components, paths } from './schema.d.ts';

type Problem = components['schemas']['Problem'];

const {
  SERVER_URL: baseUrl = '',
  RUN: run = '',
  AVATAR_FILE: avatarFile = '',
  VISIBILITY,
  TOKEN_TYPE,
} = process.env;
const avatar = readFileSync(avatarFile);
const password = 'correct horse battery';
const newPassword = 'staple of the north wind';
const MAX_AVATAR_BYTES = 5_242_880;

// React DOM reads these globals when it is imported.
const window = new Window();
Object.assign(globalThis, { window, document: window.document });
const { createRoot } = await import('react-dom/client');
const { flushSync } = await import('react-dom');

const clientOf = (token?: string) =>
  createClient(
    createFetchClient<paths>({
      baseUrl,
      headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    }),
  );

// Without timers of the cache, which would delay the exit.
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, gcTime: Infinity }, mutations: { gcTime: Infinity } },
});
const root = createRoot(document.body);

/** Calls a hook in a component. Returns its first result. */
function render<T>(hook: () => T): T {
  const results: T[] = [];
  const Component = () => {
    results.push(hook());
    return null;
  };
  const page = createElement(QueryClientProvider, { client: queries }, createElement(Component));
  flushSync(() => root.render(page));
  return results[0] as T;
}

async function expectProblem(
  call: Promise<unknown>,
  status: number,
  code: string,
): Promise<Problem> {
  const problem: Problem = await call.then(
    (data) => assert.fail(`No problem: ${JSON.stringify(data)}`),
    (error) => error,
  );
  assert.deepEqual([problem.status, problem.code], [status, code]);
  assert(problem.detail !== '' && problem.request_id !== '');
  return problem;
}

function registration(name: string) {
  return { username: `${name}-${run}`, email: `${name}-${run}@example.com`, password };
}

function assertRecent(time: string) {
  assert(Math.abs(Date.now() - Date.parse(time)) < 3_600_000, time);
}

const anyone = clientOf();

// Register two users.
const register = render(() => anyone.useMutation('post', '/api/auth/register'));
const authorSession = await register.mutateAsync({ body: registration('author') });
assert.equal(authorSession.token_type, TOKEN_TYPE);
assert.equal(authorSession.expires_in, 2_592_000);
const author = clientOf(authorSession.access_token);
const readerSession = await register.mutateAsync({ body: registration('reader') });
const reader = clientOf(readerSession.access_token);

// Create three spaces.
const tag = `c/c++ #1 50%? ${run}`;
const titles = [];
const newestFirst: string[] = [];
const create = render(() => author.useMutation('post', '/api/spaces'));
for (const number of [1, 2, 3]) {
  const creation = {
    title: `Хлеб ${run} ${number}`,
    description: 'Мука, вода, соль',
    visibility: 'public' as const,
    tags: [tag, 'выпечка'],
  };
  const space = await create.mutateAsync({ body: creation });
  const { title, description, visibility } = space;
  const tags = space.tags.map((each) => each.tag_name);
  assert.deepEqual(
    { title, description, visibility, tags },
    { ...creation, visibility: VISIBILITY },
  );
  assert.equal(space.invitation_code, null);
  assert.equal(space.participant_count, 1);
  assert.equal(space.creator.user_id, authorSession.user_id);
  assert((space.tags[0]?.tag_id ?? 0) >= 1);
  assertRecent(space.created_at);
  titles.push(title);
  newestFirst.unshift(space.space_id);
}

// Search by text, in two pages. The client does not return the header Link of searchSpaces.
const query = { q: `хлеб ${run}`, as_typed: true, limit: 2 };
const found = await queries.fetchQuery(
  anyone.queryOptions('get', '/api/spaces/search', { params: { query } }),
);
assert.equal(found.length, 2);
assert.equal(found[0]?.title, titles[2]);
/** Without null, the client sends `cursor=0` with the first request. */
const pages = {
  initialPageParam: null,
  getNextPageParam: (page: { next_cursor: string | null }) => page.next_cursor,
};
const search = render(() =>
  anyone.useInfiniteQuery('get', '/api/spaces', { params: { query } }, pages),
);
await search.refetch({ cancelRefetch: false });
const allResults = await search.fetchNextPage();
assert.deepEqual(
  allResults.data?.pages.map((page) => page.items.map((each) => each.space_id)),
  [newestFirst.slice(0, 2), newestFirst.slice(2)],
);
assert.equal(allResults.hasNextPage, false);

// Search by tag.
const byTag = anyone.queryOptions('get', '/api/spaces/tag/{tag}', { params: { path: { tag } } });
const tagged = await queries.fetchQuery(byTag);
assert.deepEqual(
  tagged.map((each) => each.space_id),
  newestFirst,
);

// List the author's spaces, in two pages.
const listSpaces = (cursor: object) =>
  queries.fetchQuery(
    author.queryOptions('get', '/api/participations', {
      params: { query: { limit: 2, ...cursor } },
    }),
  );
const firstSpaces = await listSpaces({});
assert.equal(firstSpaces.items.length, 2);
assert(firstSpaces.next_cursor !== null);
const lastSpaces = await listSpaces({ cursor: firstSpaces.next_cursor });
assert.equal(lastSpaces.next_cursor, null);
assert.deepEqual(
  lastSpaces.items.map(({ space }) => space.space_id),
  newestFirst.slice(2),
);

// Join without a body, and send a message.
const space_id = newestFirst[2] ?? '';
const send = render(() => reader.useMutation('post', '/api/messages'));
const early = send.mutateAsync({ body: { space_id, text: 'Привет' } });
await expectProblem(early, 403, 'not_a_participant');
const join = render(() => reader.useMutation('put', '/api/participations/{space_id}'));
const participation = await join.mutateAsync({ params: { path: { space_id } } });
assert.equal(participation.space.space_id, space_id);
assert.equal(participation.space.participant_count, 2);
assertRecent(participation.joined_at);
const text = 'Привет, мир! 👋\nДва';
const sending = {
  params: { header: { 'Idempotency-Key': `idempotency-key-${run}` } },
  body: { space_id, text },
};
const message = await send.mutateAsync(sending);
assert.equal((await send.mutateAsync(sending)).message_id, message.message_id);
assert.equal(message.text, text);
assert.equal(message.word_count, 3);
assert.equal(message.appreciation_count, 0);
assert.equal(message.author.username, `reader-${run}`);

// Appreciate the message.
const { message_id } = message;
const appreciation = { params: { path: { message_id } } };
const appreciate = (user: typeof author) =>
  render(() => user.useMutation('put', '/api/messages/{message_id}/appreciation')).mutateAsync(
    appreciation,
  );
assert.equal((await appreciate(author)).appreciation_count, 1);
await expectProblem(appreciate(reader), 403, 'own_message');
const { items: messages, newer_cursor: after } = await queries.fetchQuery(
  anyone.queryOptions('get', '/api/messages', { params: { query: { space_id } } }),
);
assert.deepEqual([messages.length, messages[0]?.message_id], [1, message_id]);
assert.equal(messages[0]?.appreciation_count, 1);

// Wait for an answer.
const newer = { params: { query: { space_id, after, wait: 25 } } };
const waiting = queries.fetchQuery(anyone.queryOptions('get', '/api/messages', newer));
const answer = await send.mutateAsync({ body: { space_id, text: 'два', reply_to: message_id } });
assert.deepEqual(
  (await waiting).items.map((each) => each.message_id),
  [answer.message_id],
);
assert.deepEqual([answer.is_reply, answer.reply_to?.message_id], [true, message_id]);

// Edit the answer.
const edit = render(() => reader.useMutation('patch', '/api/messages/{message_id}'));
const edited = await edit.mutateAsync({
  params: { path: { message_id: answer.message_id } },
  body: { text: 'Три и четыре' },
});
assert.deepEqual([edited.text, edited.word_count], ['Три и четыре', 3]);
assertRecent(edited.edited_at ?? '');

// List three messages in three pages.
await send.mutateAsync({ body: { space_id, text: 'три' } });
const list = { params: { query: { space_id, limit: 1 } } };
const history = render(() => anyone.useInfiniteQuery('get', '/api/messages', list, pages));
await history.refetch({ cancelRefetch: false });
await history.fetchNextPage();
const allMessages = await history.fetchNextPage();
assert.deepEqual(
  allMessages.data?.pages.map(({ items }) => items.map((each) => each.text)),
  [['три'], ['Три и четыре'], [text]],
);
assert.equal(allMessages.hasNextPage, false);

// Read a profile with large numbers.
const login = render(() => anyone.useMutation('post', '/api/auth/login'));
const veteranCredentials = { email: 'veteran@example.com', password };
const { access_token } = await login.mutateAsync({ body: veteranCredentials });
const veteran = clientOf(access_token);
const readProfile = (user: typeof author) =>
  queries.fetchQuery(user.queryOptions('get', '/api/profile/me'));
const veteranProfile = await readProfile(veteran);
assert.equal(veteranProfile.stats.total_words_contributed, 16_777_217);
assert.equal(veteranProfile.is_verified, true);
assert.equal(veteranProfile.email, 'veteran@example.com');

// End a session.
const newest = { params: { query: { limit: 1 } } };
const { items: sessions } = await queries.fetchQuery(
  veteran.queryOptions('get', '/api/auth/sessions', newest),
);
const [session] = sessions;
assert(session?.is_current);
const end = render(() => veteran.useMutation('delete', '/api/auth/sessions/{session_id}'));
await end.mutateAsync({ params: { path: { session_id: session.session_id } } });
await expectProblem(readProfile(veteran), 401, 'unauthenticated');

// Change the username and the bio.
const rename = render(() => author.useMutation('put', '/api/profile/username'));
const taken = rename.mutateAsync({ body: { username: `reader-${run}` } });
const conflict = await expectProblem(taken, 409, 'username_taken');
assert.deepEqual(
  conflict.errors.map((each) => each.pointer),
  ['/username'],
);
const username = `author.${run}`;
const renamed = await rename.mutateAsync({ body: { username } });
assert(renamed.message.includes(username));
const bio = 'Пеку по воскресеньям.\nСпорю о запятых.';
await render(() => author.useMutation('put', '/api/profile/bio')).mutateAsync({ body: { bio } });
const profile = await readProfile(author);
assert.deepEqual([profile.username, profile.bio], [username, bio]);
assert.equal(profile.stats.spaces_created, 3);

// Upload an avatar. FormData adds a file name to every file.
const changePicture = render(() => author.useMutation('put', '/api/profile/picture'));
function upload(bytes: Uint8Array<ArrayBuffer>) {
  return changePicture.mutateAsync({
    // The types describe a file as a string.
    body: { avatar: 'avatar.png' },
    bodySerializer({ avatar }) {
      const form = new FormData();
      form.set('avatar', new Blob([bytes]), avatar);
      return form;
    },
  });
}
const { profile_picture } = await upload(new Uint8Array(avatar));
assert.notEqual(profile_picture, profile.profile_picture);
assert.equal((await readProfile(author)).profile_picture, profile_picture);
await expectProblem(upload(new Uint8Array(MAX_AVATAR_BYTES + 1)), 413, 'avatar_too_large');

// Change the password.
const changePassword = render(() => author.useMutation('put', '/api/profile/password'));
const wrong = { currentPassword: 'not my password', newPassword };
const refused = changePassword.mutateAsync({ body: wrong });
await expectProblem(refused, 403, 'current_password_incorrect');
const right = { currentPassword: password, newPassword };
await changePassword.mutateAsync({ body: right });
const oldCredentials = { email: `author-${run}@example.com`, password };
await expectProblem(login.mutateAsync({ body: oldCredentials }), 401, 'credentials_incorrect');

// Read what the server offers, and use an unknown token of a mail.
const server = await queries.fetchQuery(anyone.queryOptions('get', '/api/server'));
assert.deepEqual([server.sends_mail, server.limits.max_avatar_bytes], [true, MAX_AVATAR_BYTES]);
const requestReset = render(() => anyone.useMutation('post', '/api/auth/password-resets'));
await requestReset.mutateAsync({ body: { email: oldCredentials.email } });
const resetPassword = render(() => anyone.useMutation('put', '/api/auth/password-resets'));
const token = 'unknown';
const reset = resetPassword.mutateAsync({ body: { token, newPassword } });
await expectProblem(reset, 400, 'invalid_token');
const verifyEmail = render(() => anyone.useMutation('put', '/api/auth/email-verifications'));
await expectProblem(verifyEmail.mutateAsync({ body: { token } }), 400, 'invalid_token');

// Delete the accounts.
for (const user of [author, reader]) {
  await render(() => user.useMutation('delete', '/api/profile/account')).mutateAsync({});
  await expectProblem(readProfile(user), 401, 'unauthenticated');
}
assert.deepEqual(await queries.fetchQuery(byTag), []);
