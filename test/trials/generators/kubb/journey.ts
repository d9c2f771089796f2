// Uses every important operation with the generated client. See ../README.md for the steps.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { QueryClient } from '@tanstack/react-query';
import type { RequestConfig } from './client/.kubb/fetch.ts';
import * as api from './client/index.ts';

const {
  SERVER_URL: baseURL = '',
  RUN: run = '',
  AVATAR_FILE: avatarFile = '',
  VISIBILITY,
  TOKEN_TYPE,
} = process.env;
const avatar = readFileSync(avatarFile);
const password = 'correct horse battery';
const newPassword = 'staple of the north wind';
const MAX_AVATAR_BYTES = 5_242_880;

/** The client sends JSON without its content type. */
const json = { 'Content-Type': 'application/json' };
type Connection = Pick<RequestConfig, 'baseURL' | 'headers'>;
const anyone: Connection = { baseURL, headers: json };
const authorization = ({ access_token }: api.Session) => ({
  Authorization: `Bearer ${access_token}`,
});
const signedIn = (session: api.Session): Connection => ({
  baseURL,
  headers: { ...json, ...authorization(session) },
});
const withoutType = (session: api.Session): Connection => ({
  baseURL,
  headers: authorization(session),
});

/** Checks that a response is not a problem. The client returns the body of any response, without its status. */
async function expectData<T>(call: Promise<T>): Promise<T> {
  const data = await call;
  assert(!Object.hasOwn(data as object, 'request_id'), JSON.stringify(data));
  return data;
}

async function expectProblem(
  call: Promise<unknown>,
  status: number,
  code: string,
): Promise<api.Problem> {
  const problem = (await call) as api.Problem;
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

// Register two users.
const authorSession = await expectData(api.register(registration('author'), anyone));
assert.equal(authorSession.token_type, TOKEN_TYPE);
assert.equal(authorSession.expires_in, 2_592_000);
const author = signedIn(authorSession);
const readerSession = await expectData(api.register(registration('reader'), anyone));
const reader = signedIn(readerSession);

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
  const space = await expectData(api.createSpace(creation, undefined, author));
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
const found = await expectData(api.searchSpaces(query, anyone));
assert.equal(found.length, 2);
assert.equal(found[0]?.title, titles[2]);
const queries = new QueryClient();
const search = api.listSpacesInfiniteQueryOptions({ q: query.q, limit: 2 }, anyone);
const { pages } = await queries.fetchInfiniteQuery({ ...search, pages: 2 });
assert.deepEqual(
  pages.map((page) => page.items.map((each) => each.space_id)),
  [newestFirst.slice(0, 2), newestFirst.slice(2)],
);

// Search by tag. The client does not encode it.
const tagged = await expectData(api.searchSpacesByTag(encodeURIComponent(tag), undefined, anyone));
assert.deepEqual(
  tagged.map((each) => each.space_id),
  newestFirst,
);

// List the author's spaces, in two pages.
const firstSpaces = await expectData(api.listParticipations({ limit: 2 }, author));
assert.equal(firstSpaces.items.length, 2);
assert(firstSpaces.next_cursor !== null);
const rest = { limit: 2, cursor: firstSpaces.next_cursor };
const lastSpaces = await expectData(api.listParticipations(rest, author));
assert.equal(lastSpaces.next_cursor, null);
assert.deepEqual(
  lastSpaces.items.map(({ space }) => space.space_id),
  newestFirst.slice(2),
);

// Join without a body, and send a message.
const space_id = newestFirst[2] ?? '';
const early = api.sendMessage({ space_id, text: 'Привет' }, undefined, reader);
await expectProblem(early, 403, 'not_a_participant');
const participation = await expectData(api.joinSpace(space_id, undefined, reader));
assert.equal(participation.space.space_id, space_id);
assert.equal(participation.space.participant_count, 2);
assertRecent(participation.joined_at);
const text = 'Привет, мир! 👋\nДва';
const idempotent = { 'Idempotency-Key': `idempotency-key-${run}` };
const message = await expectData(api.sendMessage({ space_id, text }, idempotent, reader));
const repeated = await expectData(api.sendMessage({ space_id, text }, idempotent, reader));
assert.equal(repeated.message_id, message.message_id);
assert.equal(message.text, text);
assert.equal(message.word_count, 3);
assert.equal(message.appreciation_count, 0);
assert.equal(message.author.username, `reader-${run}`);

// Appreciate the message.
const { message_id } = message;
const appreciated = api.appreciateMessage(message_id, author);
assert.equal((await expectData(appreciated)).appreciation_count, 1);
const own = api.appreciateMessage(message_id, reader);
await expectProblem(own, 403, 'own_message');
const listed = api.listMessages({ space_id }, anyone);
const { items: messages, newer_cursor: after } = await expectData(listed);
assert.deepEqual([messages.length, messages[0]?.message_id], [1, message_id]);
assert.equal(messages[0]?.appreciation_count, 1);

// Wait for an answer.
const waiting = api.listMessages({ space_id, after, wait: 25 }, anyone);
const reply = { space_id, text: 'два', reply_to: message_id };
const answer = await expectData(api.sendMessage(reply, undefined, reader));
assert.deepEqual(
  (await expectData(waiting)).items.map((each) => each.message_id),
  [answer.message_id],
);
assert.deepEqual([answer.is_reply, answer.reply_to?.message_id], [true, message_id]);

// Edit the answer.
const editing = api.editMessage(answer.message_id, { text: 'Три и четыре' }, undefined, reader);
const edited = await expectData(editing);
assert.deepEqual([edited.text, edited.word_count], ['Три и четыре', 3]);
assertRecent(edited.edited_at ?? '');

// List three messages in three pages.
await expectData(api.sendMessage({ space_id, text: 'три' }, undefined, reader));
const list = api.listMessagesInfiniteQueryOptions({ space_id, limit: 1 }, anyone);
const history = await queries.fetchInfiniteQuery({ ...list, pages: 4 });
assert.deepEqual(
  history.pages.map(({ items }) => items.map((each) => each.text)),
  [['три'], ['Три и четыре'], [text]],
);

// Read a profile with large numbers.
const veteranCredentials = { email: 'veteran@example.com', password };
const veteran = signedIn(await expectData(api.login(veteranCredentials, anyone)));
const veteranProfile = await expectData(api.getProfile(veteran));
assert.equal(veteranProfile.stats.total_words_contributed, 16_777_217);
assert.equal(veteranProfile.is_verified, true);
assert.equal(veteranProfile.email, 'veteran@example.com');

// End a session.
const { items: sessions } = await expectData(api.listSessions({ limit: 1 }, veteran));
const [session] = sessions;
assert(session?.is_current);
await expectData(api.endSession(session.session_id, veteran));
await expectProblem(api.getProfile(veteran), 401, 'unauthenticated');

// Change the username and the bio.
const taken = api.changeUsername({ username: `reader-${run}` }, author);
const conflict = await expectProblem(taken, 409, 'username_taken');
assert.deepEqual(
  conflict.errors.map((each) => each.pointer),
  ['/username'],
);
const username = `author.${run}`;
const renamed = await expectData(api.changeUsername({ username }, author));
assert(renamed.message.includes(username));
const bio = 'Пеку по воскресеньям.\nСпорю о запятых.';
await expectData(api.changeBio({ bio }, author));
const profile = await expectData(api.getProfile(author));
assert.deepEqual([profile.username, profile.bio], [username, bio]);
assert.equal(profile.stats.spaces_created, 3);

// Upload an avatar. FormData adds a file name to every file: that of a File, or "blob".
function upload(avatar: Blob) {
  // The type of the field is File.
  return api.changeProfilePicture({ avatar: avatar as File }, withoutType(authorSession));
}
const { profile_picture } = await expectData(upload(new File([avatar], 'avatar.png')));
assert.notEqual(profile_picture, profile.profile_picture);
assert.equal((await expectData(api.getProfile(author))).profile_picture, profile_picture);
await expectProblem(
  upload(new Blob([new Uint8Array(MAX_AVATAR_BYTES + 1)])),
  413,
  'avatar_too_large',
);

// Change the password.
const wrong = { currentPassword: 'not my password', newPassword };
const refused = api.changePassword(wrong, author);
await expectProblem(refused, 403, 'current_password_incorrect');
const right = { currentPassword: password, newPassword };
await expectData(api.changePassword(right, author));
const oldCredentials = { email: `author-${run}@example.com`, password };
const loggedIn = api.login(oldCredentials, anyone);
await expectProblem(loggedIn, 401, 'credentials_incorrect');

// Read what the server offers, and use an unknown token of a mail.
const server = await expectData(api.getServer(anyone));
assert.deepEqual([server.sends_mail, server.limits.max_avatar_bytes], [true, MAX_AVATAR_BYTES]);
await expectData(api.requestPasswordReset({ email: oldCredentials.email }, anyone));
const token = 'unknown';
await expectProblem(api.resetPassword({ token, newPassword }, anyone), 400, 'invalid_token');
await expectProblem(api.verifyEmail({ token }, anyone), 400, 'invalid_token');

// Delete the accounts.
for (const user of [author, reader]) {
  await expectData(api.deleteAccount(user));
  await expectProblem(api.getProfile(user), 401, 'unauthenticated');
}
assert.deepEqual(
  await expectData(api.searchSpacesByTag(encodeURIComponent(tag), undefined, anyone)),
  [],
);
