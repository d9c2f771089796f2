// Uses every important operation with the generated client. See ../README.md for the steps.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as api from './client';

const { RUN: run = '', AVATAR_FILE: avatarFile = '', VISIBILITY, TOKEN_TYPE } = process.env;
const avatar = readFileSync(avatarFile);
const password = 'correct horse battery';
const newPassword = 'staple of the north wind';
const MAX_AVATAR_BYTES = 5_242_880;

const signedIn = ({ access_token }: api.Session) => ({
  headers: { Authorization: `Bearer ${access_token}` },
});

interface Result {
  status: number;
  data: unknown;
}

function expectData<R extends Result>(
  result: R,
  status: 200 | 201 | 202 = 200,
): Extract<R, { status: 200 | 201 | 202 }>['data'] {
  assert.equal(result.status, status, JSON.stringify(result.data));
  return result.data;
}

function expectProblem(result: Result, status: number, code: string): api.Problem {
  const problem = result.data as api.Problem;
  assert.deepEqual([result.status, problem.status, problem.code], [status, status, code]);
  assert(problem.detail !== '' && problem.request_id !== '');
  return problem;
}

function nextCursor({ headers }: { headers: Headers }): string | undefined {
  const link = headers.get('link') ?? '';
  return /<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"/.exec(link)?.[1];
}

function registration(name: string) {
  return { username: `${name}-${run}`, email: `${name}-${run}@example.com`, password };
}

function assertRecent(time: string) {
  assert(Math.abs(Date.now() - Date.parse(time)) < 3_600_000, time);
}

// Register two users.
const authorSession = expectData(await api.register(registration('author')), 201);
assert.equal(authorSession.token_type, TOKEN_TYPE);
assert.equal(authorSession.expires_in, 2_592_000);
const author = signedIn(authorSession);
const readerSession = expectData(await api.register(registration('reader')), 201);
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
  const space = expectData(await api.createSpace(creation, author), 201);
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
const first = await api.searchSpaces(query);
const found = expectData(first);
assert.equal(found.length, 2);
assert.equal(found[0]?.title, titles[2]);
const cursor = nextCursor(first);
assert(cursor !== undefined);
const second = await api.searchSpaces({ ...query, cursor });
found.push(...expectData(second));
assert.deepEqual(
  found.map((each) => each.space_id),
  newestFirst,
);
assert.equal(nextCursor(second), undefined);

// Search by tag.
const tagged = expectData(await api.searchSpacesByTag(tag));
assert.deepEqual(
  tagged.map((each) => each.space_id),
  newestFirst,
);

// List the author's spaces, in two pages.
const firstSpaces = expectData(await api.listParticipations({ limit: 2 }, author));
assert.equal(firstSpaces.items.length, 2);
const next_cursor = firstSpaces.next_cursor ?? '';
const lastSpaces = expectData(
  await api.listParticipations({ limit: 2, cursor: next_cursor }, author),
);
assert.equal(lastSpaces.next_cursor, null);
assert.deepEqual(
  [...firstSpaces.items, ...lastSpaces.items].map((each) => each.space.space_id),
  newestFirst,
);

// Join without a body, and send a message.
const space_id = newestFirst[2] ?? '';
const early = await api.sendMessage({ space_id, text: 'Привет' }, reader);
expectProblem(early, 403, 'not_a_participant');
const participation = expectData(await api.joinSpace(space_id, undefined, reader));
assert.equal(participation.space.space_id, space_id);
assert.equal(participation.space.participant_count, 2);
assertRecent(participation.joined_at);
const text = 'Привет, мир! 👋\nДва';
const idempotent = {
  headers: { ...reader.headers, 'Idempotency-Key': `idempotency-key-${run}` },
};
const message = expectData(await api.sendMessage({ space_id, text }, idempotent), 201);
const repeated = expectData(await api.sendMessage({ space_id, text }, idempotent), 201);
assert.equal(repeated.message_id, message.message_id);
assert.equal(message.text, text);
assert.equal(message.word_count, 3);
assert.equal(message.appreciation_count, 0);
assert.equal(message.author.username, `reader-${run}`);

// Appreciate the message.
const { message_id } = message;
const appreciated = await api.appreciateMessage(message_id, author);
assert.equal(expectData(appreciated).appreciation_count, 1);
const own = await api.appreciateMessage(message_id, reader);
expectProblem(own, 403, 'own_message');
const listed = await api.listMessages({ space_id });
const { items: messages, newer_cursor: after } = expectData(listed);
assert.deepEqual([messages.length, messages[0]?.message_id], [1, message_id]);
assert.equal(messages[0]?.appreciation_count, 1);

// Wait for an answer.
const waiting = api.listMessages({ space_id, after, wait: 25 });
const reply = { space_id, text: 'Три', reply_to: message_id };
const answer = expectData(await api.sendMessage(reply, reader), 201);
assert.deepEqual(
  expectData(await waiting).items.map((each) => each.message_id),
  [answer.message_id],
);
assert.deepEqual([answer.is_reply, answer.reply_to?.message_id], [true, message_id]);

// Edit the answer.
const editing = api.editMessage(answer.message_id, { text: 'Три и четыре' }, reader);
const edited = expectData(await editing);
assert.deepEqual([edited.text, edited.word_count], ['Три и четыре', 3]);
assertRecent(edited.edited_at ?? '');

// Read a profile with large numbers.
const veteranCredentials = { email: 'veteran@example.com', password };
const veteran = signedIn(expectData(await api.login(veteranCredentials)));
const veteranProfile = expectData(await api.getProfile(veteran));
assert.equal(veteranProfile.stats.total_words_contributed, 16_777_217);
assert.equal(veteranProfile.is_verified, true);
assert.equal(veteranProfile.email, 'veteran@example.com');

// End a session.
const [session] = expectData(await api.listSessions({ limit: 1 }, veteran)).items;
assert(session?.is_current);
expectData(await api.endSession(session.session_id, veteran));
expectProblem(await api.getProfile(veteran), 401, 'unauthenticated');

// Change the username and the bio.
const taken = await api.changeUsername({ username: `reader-${run}` }, author);
const conflict = expectProblem(taken, 409, 'username_taken');
assert.deepEqual(
  conflict.errors.map((each) => each.pointer),
  ['/username'],
);
const username = `author.${run}`;
const renamed = expectData(await api.changeUsername({ username }, author));
assert(renamed.message.includes(username));
const bio = 'Пеку по воскресеньям.\nСпорю о запятых.';
expectData(await api.changeBio({ bio }, author));
const profile = expectData(await api.getProfile(author));
assert.deepEqual([profile.username, profile.bio], [username, bio]);
assert.equal(profile.stats.spaces_created, 3);

// Upload an avatar. FormData adds a file name to every file: that of a File, or "blob".
function upload(avatar: Blob) {
  return api.changeProfilePicture({ avatar }, author);
}
const { profile_picture } = expectData(await upload(new File([avatar], 'avatar.png')));
assert.notEqual(profile_picture, profile.profile_picture);
assert.equal(expectData(await api.getProfile(author)).profile_picture, profile_picture);
expectProblem(
  await upload(new Blob([new Uint8Array(MAX_AVATAR_BYTES + 1)])),
  413,
  'avatar_too_large',
);

// Change the password.
const wrong = { currentPassword: 'not my password', newPassword };
const refused = await api.changePassword(wrong, author);
expectProblem(refused, 403, 'current_password_incorrect');
const right = { currentPassword: password, newPassword };
expectData(await api.changePassword(right, author));
const oldCredentials = { email: `author-${run}@example.com`, password };
const loggedIn = await api.login(oldCredentials);
expectProblem(loggedIn, 401, 'credentials_incorrect');

// Read what the server offers, and use an unknown token of a mail.
const server = expectData(await api.getServer());
assert.deepEqual([server.sends_mail, server.limits.max_avatar_bytes], [true, MAX_AVATAR_BYTES]);
expectData(await api.requestPasswordReset({ email: oldCredentials.email }), 202);
const token = 'unknown';
expectProblem(await api.resetPassword({ token, newPassword }), 400, 'invalid_token');
expectProblem(await api.verifyEmail({ token }), 400, 'invalid_token');

// Delete the accounts.
for (const user of [author, reader]) {
  expectData(await api.deleteAccount(user));
  expectProblem(await api.getProfile(user), 401, 'unauthenticated');
}
assert.deepEqual(expectData(await api.searchSpacesByTag(tag)), []);
