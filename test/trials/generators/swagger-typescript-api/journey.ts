// Uses every important operation with the generated client. See ../README.md for the steps.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Api, type HttpResponse, type Problem, type Session, Visibility } from './client.ts';

const {
  SERVER_URL: baseUrl = '',
  RUN: run = '',
  AVATAR_FILE: avatarFile = '',
  VISIBILITY,
  TOKEN_TYPE,
} = process.env;
const anyone = new Api({ baseUrl }).api;
const avatar = readFileSync(avatarFile);
const password = 'correct horse battery';
const newPassword = 'staple of the north wind';
const MAX_AVATAR_BYTES = 5_242_880;

const signedIn = ({ access_token }: Session) =>
  new Api<string>({
    baseUrl,
    securityWorker: () => ({ headers: { Authorization: `Bearer ${access_token}` } }),
  }).api;

/** Returns the data of a response. The client throws responses with other statuses. */
async function expectData<T>(call: Promise<HttpResponse<T>>, status = 200): Promise<T> {
  const response = await call;
  assert.equal(response.status, status);
  return response.data;
}

async function expectProblem(
  call: Promise<HttpResponse<unknown>>,
  status: number,
  code: string,
): Promise<Problem> {
  const response = await call.catch((error: HttpResponse<unknown, Problem>) => error);
  const problem = response.error as Problem;
  assert.deepEqual([response.status, problem.status, problem.code], [status, status, code]);
  assert(problem.detail !== '' && problem.request_id !== '');
  return problem;
}

function nextCursor({ headers }: Response): string | undefined {
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
const authorSession = await expectData(anyone.register(registration('author')), 201);
assert.equal(authorSession.token_type, TOKEN_TYPE);
assert.equal(authorSession.expires_in, 2_592_000);
const author = signedIn(authorSession);
const readerSession = await expectData(anyone.register(registration('reader')), 201);
const reader = signedIn(readerSession);

// Create three spaces.
const tag = `c/c++ #1 50%? ${run}`;
const titles = [];
const newestFirst: string[] = [];
for (const number of [1, 2, 3]) {
  const creation = {
    title: `Хлеб ${run} ${number}`,
    description: 'Мука, вода, соль',
    visibility: Visibility.Public,
    tags: [tag, 'выпечка'],
  };
  const space = await expectData(author.createSpace(creation), 201);
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
const first = await anyone.searchSpaces(query);
const found = first.data;
assert.equal(found.length, 2);
assert.equal(found[0]?.title, titles[2]);
const cursor = nextCursor(first);
assert(cursor !== undefined);
const second = await anyone.searchSpaces({ ...query, cursor });
found.push(...second.data);
assert.deepEqual(
  found.map((each) => each.space_id),
  newestFirst,
);
assert.equal(nextCursor(second), undefined);

// Search by tag. The client does not encode it.
const tagged = await expectData(anyone.searchSpacesByTag(encodeURIComponent(tag)));
assert.deepEqual(
  tagged.map((each) => each.space_id),
  newestFirst,
);

// List the author's spaces, in two pages.
const firstSpaces = await expectData(author.listParticipations({ limit: 2 }));
assert.equal(firstSpaces.items.length, 2);
assert(firstSpaces.next_cursor !== null);
const rest = { limit: 2, cursor: firstSpaces.next_cursor };
const lastSpaces = await expectData(author.listParticipations(rest));
assert.equal(lastSpaces.next_cursor, null);
assert.deepEqual(
  lastSpaces.items.map(({ space }) => space.space_id),
  newestFirst.slice(2),
);

// Join without a body, and send a message.
const space_id = newestFirst[2] ?? '';
const early = reader.sendMessage({ space_id, text: 'Привет' });
await expectProblem(early, 403, 'not_a_participant');
const participation = await expectData(reader.joinSpace(space_id));
assert.equal(participation.space.space_id, space_id);
assert.equal(participation.space.participant_count, 2);
assertRecent(participation.joined_at);
const text = 'Привет, мир! 👋\nДва';
const idempotent = { headers: { 'Idempotency-Key': `idempotency-key-${run}` } };
const message = await expectData(reader.sendMessage({ space_id, text }, idempotent), 201);
const repeated = await expectData(reader.sendMessage({ space_id, text }, idempotent), 201);
assert.equal(repeated.message_id, message.message_id);
assert.equal(message.text, text);
assert.equal(message.word_count, 3);
assert.equal(message.appreciation_count, 0);
assert.equal(message.author.username, `reader-${run}`);

// Appreciate the message.
const { message_id } = message;
const appreciated = author.appreciateMessage(message_id);
assert.equal((await expectData(appreciated)).appreciation_count, 1);
const own = reader.appreciateMessage(message_id);
await expectProblem(own, 403, 'own_message');
const listed = anyone.listMessages({ space_id });
const { items: messages, newer_cursor: after } = await expectData(listed);
assert.deepEqual([messages.length, messages[0]?.message_id], [1, message_id]);
assert.equal(messages[0]?.appreciation_count, 1);

// Wait for an answer.
const waiting = anyone.listMessages({ space_id, after, wait: 25 });
const reply = { space_id, text: 'Три', reply_to: message_id };
const answer = await expectData(reader.sendMessage(reply), 201);
assert.deepEqual(
  (await expectData(waiting)).items.map((each) => each.message_id),
  [answer.message_id],
);
assert.deepEqual([answer.is_reply, answer.reply_to?.message_id], [true, message_id]);

// Edit the answer.
const editing = reader.editMessage(answer.message_id, { text: 'Три и четыре' });
const edited = await expectData(editing);
assert.deepEqual([edited.text, edited.word_count], ['Три и четыре', 3]);
assertRecent(edited.edited_at ?? '');

// Read a profile with large numbers.
const veteranCredentials = { email: 'veteran@example.com', password };
const veteran = signedIn(await expectData(anyone.login(veteranCredentials)));
const veteranProfile = await expectData(veteran.getProfile());
assert.equal(veteranProfile.stats.total_words_contributed, 16_777_217);
assert.equal(veteranProfile.is_verified, true);
assert.equal(veteranProfile.email, 'veteran@example.com');

// End a session.
const { items: sessions } = await expectData(veteran.listSessions({ limit: 1 }));
const [session] = sessions;
assert(session?.is_current);
await expectData(veteran.endSession(session.session_id));
await expectProblem(veteran.getProfile(), 401, 'unauthenticated');

// Change the username and the bio.
const taken = author.changeUsername({ username: `reader-${run}` });
const conflict = await expectProblem(taken, 409, 'username_taken');
assert.deepEqual(
  conflict.errors.map((each) => each.pointer),
  ['/username'],
);
const username = `author.${run}`;
const renamed = await expectData(author.changeUsername({ username }));
assert(renamed.message.includes(username));
const bio = 'Пеку по воскресеньям.\nСпорю о запятых.';
await expectData(author.changeBio({ bio }));
const profile = await expectData(author.getProfile());
assert.deepEqual([profile.username, profile.bio], [username, bio]);
assert.equal(profile.stats.spaces_created, 3);

// Upload an avatar. FormData adds a file name to every file: that of a File, or "blob".
function upload(avatar: Blob) {
  // The type of the field is File.
  return author.changeProfilePicture({ avatar: avatar as File });
}
const { profile_picture } = await expectData(upload(new File([avatar], 'avatar.png')));
assert.notEqual(profile_picture, profile.profile_picture);
assert.equal((await expectData(author.getProfile())).profile_picture, profile_picture);
await expectProblem(
  upload(new Blob([new Uint8Array(MAX_AVATAR_BYTES + 1)])),
  413,
  'avatar_too_large',
);

// Change the password.
const wrong = { currentPassword: 'not my password', newPassword };
const refused = author.changePassword(wrong);
await expectProblem(refused, 403, 'current_password_incorrect');
const right = { currentPassword: password, newPassword };
await expectData(author.changePassword(right));
const oldCredentials = { email: `author-${run}@example.com`, password };
const loggedIn = anyone.login(oldCredentials);
await expectProblem(loggedIn, 401, 'credentials_incorrect');

// Read what the server offers, and use an unknown token of a mail.
const server = await expectData(anyone.getServer());
assert.deepEqual([server.sends_mail, server.limits.max_avatar_bytes], [true, MAX_AVATAR_BYTES]);
await expectData(anyone.requestPasswordReset({ email: oldCredentials.email }), 202);
const token = 'unknown';
await expectProblem(anyone.resetPassword({ token, newPassword }), 400, 'invalid_token');
await expectProblem(anyone.verifyEmail({ token }), 400, 'invalid_token');

// Delete the accounts.
for (const user of [author, reader]) {
  await expectData(user.deleteAccount());
  await expectProblem(user.getProfile(), 401, 'unauthenticated');
}
assert.deepEqual(await expectData(anyone.searchSpacesByTag(encodeURIComponent(tag))), []);
