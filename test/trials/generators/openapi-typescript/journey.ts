// Uses every important operation with the generated client. See ../README.md for the steps.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import createClient from 'openapi-fetch';
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

const clientOf = (token?: string) =>
  createClient<paths>({
    baseUrl,
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
  });

interface Result<Data> {
  data?: Data;
  error?: Problem;
  response: Response;
}

function expectData<Data>(result: Result<Data>, status = 200): Data {
  assert.equal(result.response.status, status, JSON.stringify(result.error));
  assert(result.data !== undefined);
  return result.data;
}

function expectProblem({ error, response }: Result<unknown>, status: number, code: string) {
  assert(error !== undefined);
  assert.deepEqual([response.status, error.status, error.code], [status, status, code]);
  assert(error.detail !== '' && error.request_id !== '');
  return error;
}

function nextCursor(response: Response): string | undefined {
  const link = response.headers.get('link') ?? '';
  return /<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"/.exec(link)?.[1];
}

function registration(name: string) {
  return { username: `${name}-${run}`, email: `${name}-${run}@example.com`, password };
}

function assertRecent(time: string) {
  assert(Math.abs(Date.now() - Date.parse(time)) < 3_600_000, time);
}

const anyone = clientOf();

// Register two users.
const authorSession = expectData(
  await anyone.POST('/api/auth/register', { body: registration('author') }),
  201,
);
assert.equal(authorSession.token_type, TOKEN_TYPE);
assert.equal(authorSession.expires_in, 2_592_000);
const author = clientOf(authorSession.access_token);
const readerSession = expectData(
  await anyone.POST('/api/auth/register', { body: registration('reader') }),
  201,
);
const reader = clientOf(readerSession.access_token);

// Create three spaces.
const tag = `c/c++ #1 50%? ${run}`;
const titles = [];
const newestFirst: string[] = [];
for (const number of [1, 2, 3]) {
  const creation = {
    title: `Хлеб ${run} ${number}`,
    description: 'Мука, вода, соль',
    visibility: 'public' as const,
    tags: [tag, 'выпечка'],
  };
  const space = expectData(await author.POST('/api/spaces', { body: creation }), 201);
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

// Search by text, in two pages.
const query = { q: `хлеб ${run}`, as_typed: true, limit: 2 };
const first = await anyone.GET('/api/spaces/search', { params: { query } });
const found = expectData(first);
assert.equal(found.length, 2);
assert.equal(found[0]?.title, titles[2]);
const cursor = nextCursor(first.response);
assert(cursor !== undefined);
const second = await anyone.GET('/api/spaces/search', { params: { query: { ...query, cursor } } });
found.push(...expectData(second));
assert.deepEqual(
  found.map((each) => each.space_id),
  newestFirst,
);
assert.equal(nextCursor(second.response), undefined);

// Search by tag.
const byTag = { params: { path: { tag } } };
const tagged = expectData(await anyone.GET('/api/spaces/tag/{tag}', byTag));
assert.deepEqual(
  tagged.map((each) => each.space_id),
  newestFirst,
);

// List the author's spaces, in two pages.
const firstSpaces = expectData(
  await author.GET('/api/participations', { params: { query: { limit: 2 } } }),
);
assert.equal(firstSpaces.items.length, 2);
const next_cursor = firstSpaces.next_cursor ?? '';
const lastSpaces = expectData(
  await author.GET('/api/participations', { params: { query: { limit: 2, cursor: next_cursor } } }),
);
assert.equal(lastSpaces.next_cursor, null);
assert.deepEqual(
  [...firstSpaces.items, ...lastSpaces.items].map((each) => each.space.space_id),
  newestFirst,
);

// Join without a body, and send a message.
const space_id = newestFirst[2] ?? '';
const early = await reader.POST('/api/messages', { body: { space_id, text: 'Привет' } });
expectProblem(early, 403, 'not_a_participant');
const participation = expectData(
  await reader.PUT('/api/participations/{space_id}', { params: { path: { space_id } } }),
);
assert.equal(participation.space.space_id, space_id);
assert.equal(participation.space.participant_count, 2);
assertRecent(participation.joined_at);
const text = 'Привет, мир! 👋\nДва';
const sending = {
  params: { header: { 'Idempotency-Key': `idempotency-key-${run}` } },
  body: { space_id, text },
};
const message = expectData(await reader.POST('/api/messages', sending), 201);
const repeated = expectData(await reader.POST('/api/messages', sending), 201);
assert.equal(repeated.message_id, message.message_id);
assert.equal(message.text, text);
assert.equal(message.word_count, 3);
assert.equal(message.appreciation_count, 0);
assert.equal(message.author.username, `reader-${run}`);

// Appreciate the message.
const { message_id } = message;
const appreciation = { params: { path: { message_id } } };
const appreciated = await author.PUT('/api/messages/{message_id}/appreciation', appreciation);
assert.equal(expectData(appreciated).appreciation_count, 1);
const own = await reader.PUT('/api/messages/{message_id}/appreciation', appreciation);
expectProblem(own, 403, 'own_message');
const listed = await anyone.GET('/api/messages', { params: { query: { space_id } } });
const { items: messages, newer_cursor: after } = expectData(listed);
assert.deepEqual([messages.length, messages[0]?.message_id], [1, message_id]);
assert.equal(messages[0]?.appreciation_count, 1);

// Wait for an answer.
const newer = { params: { query: { space_id, after, wait: 25 } } };
const waiting = anyone.GET('/api/messages', newer);
const reply = { space_id, text: 'Три', reply_to: message_id };
const answer = expectData(await reader.POST('/api/messages', { body: reply }), 201);
assert.deepEqual(
  expectData(await waiting).items.map((each) => each.message_id),
  [answer.message_id],
);
assert.deepEqual([answer.is_reply, answer.reply_to?.message_id], [true, message_id]);

// Edit the answer.
const editing = {
  params: { path: { message_id: answer.message_id } },
  body: { text: 'Три и четыре' },
};
const edited = expectData(await reader.PATCH('/api/messages/{message_id}', editing));
assert.deepEqual([edited.text, edited.word_count], ['Три и четыре', 3]);
assertRecent(edited.edited_at ?? '');

// Read a profile with large numbers.
const veteranCredentials = { email: 'veteran@example.com', password };
const { access_token } = expectData(
  await anyone.POST('/api/auth/login', { body: veteranCredentials }),
);
const veteran = clientOf(access_token);
const veteranProfile = expectData(await veteran.GET('/api/profile/me'));
assert.equal(veteranProfile.stats.total_words_contributed, 16_777_217);
assert.equal(veteranProfile.is_verified, true);
assert.equal(veteranProfile.email, 'veteran@example.com');

// End a session.
const newest = { params: { query: { limit: 1 } } };
const [session] = expectData(await veteran.GET('/api/auth/sessions', newest)).items;
assert(session?.is_current);
const ending = { params: { path: { session_id: session.session_id } } };
expectData(await veteran.DELETE('/api/auth/sessions/{session_id}', ending));
expectProblem(await veteran.GET('/api/profile/me'), 401, 'unauthenticated');

// Change the username and the bio.
const taken = await author.PUT('/api/profile/username', { body: { username: `reader-${run}` } });
const conflict = expectProblem(taken, 409, 'username_taken');
assert.deepEqual(
  conflict.errors.map((each) => each.pointer),
  ['/username'],
);
const username = `author.${run}`;
const renamed = expectData(await author.PUT('/api/profile/username', { body: { username } }));
assert(renamed.message.includes(username));
const bio = 'Пеку по воскресеньям.\nСпорю о запятых.';
expectData(await author.PUT('/api/profile/bio', { body: { bio } }));
const profile = expectData(await author.GET('/api/profile/me'));
assert.deepEqual([profile.username, profile.bio], [username, bio]);
assert.equal(profile.stats.spaces_created, 3);

// Upload an avatar. FormData adds a file name to every file.
function upload(bytes: Uint8Array<ArrayBuffer>) {
  return author.PUT('/api/profile/picture', {
    // The types describe a file as a string.
    body: { avatar: 'avatar.png' },
    bodySerializer({ avatar }) {
      const form = new FormData();
      form.set('avatar', new Blob([bytes]), avatar);
      return form;
    },
  });
}
const { profile_picture } = expectData(await upload(new Uint8Array(avatar)));
assert.notEqual(profile_picture, profile.profile_picture);
assert.equal(expectData(await author.GET('/api/profile/me')).profile_picture, profile_picture);
expectProblem(await upload(new Uint8Array(MAX_AVATAR_BYTES + 1)), 413, 'avatar_too_large');

// Change the password.
const wrong = { currentPassword: 'not my password', newPassword };
const refused = await author.PUT('/api/profile/password', { body: wrong });
expectProblem(refused, 403, 'current_password_incorrect');
const right = { currentPassword: password, newPassword };
expectData(await author.PUT('/api/profile/password', { body: right }));
const oldCredentials = { email: `author-${run}@example.com`, password };
const loggedIn = await anyone.POST('/api/auth/login', { body: oldCredentials });
expectProblem(loggedIn, 401, 'credentials_incorrect');

// Read what the server offers, and use an unknown token of a mail.
const server = expectData(await anyone.GET('/api/server'));
assert.deepEqual([server.sends_mail, server.limits.max_avatar_bytes], [true, MAX_AVATAR_BYTES]);
const { email } = oldCredentials;
expectData(await anyone.POST('/api/auth/password-resets', { body: { email } }), 202);
const token = 'unknown';
const reset = await anyone.PUT('/api/auth/password-resets', { body: { token, newPassword } });
expectProblem(reset, 400, 'invalid_token');
const verified = await anyone.PUT('/api/auth/email-verifications', { body: { token } });
expectProblem(verified, 400, 'invalid_token');

// Delete the accounts.
for (const user of [author, reader]) {
  expectData(await user.DELETE('/api/profile/account'));
  expectProblem(await user.GET('/api/profile/me'), 401, 'unauthenticated');
}
assert.deepEqual(expectData(await anyone.GET('/api/spaces/tag/{tag}', byTag)), []);
