import { describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Space } from '../../generated/types.gen.ts';
import { mailboxSettings } from '../../server/mail/mailbox.ts';
import { indexMessages } from '../../server/message-words/indexing.ts';
import { usernameSkeleton } from '../../server/text/username-keys.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { uploadAvatar } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { readDataFolder } from '../support/data-files.ts';
import { isPostgresql } from '../support/databases.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';

const deleteAccount = ({ client }: Pick<TestUser, 'client'>) =>
  api.deleteAccount({ client, throwOnError: true });

// The texts consist of sequences of letters that occur nowhere else. The search folds some, and some are in an unspaced
// script.

/** Texts that the account replaces before its deletion. */
const FORMER_TEXTS = {
  username: 'qyxjforbwe',
  bio: 'Jvqxwerzuk',
  title: 'Žwjqvyxölk',
  description: 'Wqxjvörteq',
  tag: 'Xqjwvåpleq',
  message: 'Gzwqjxvhimol',
};

/** Texts of the account at its deletion. */
const CANARIES = {
  username: 'vqjxzorple',
  email: 'zqvwjxatle@example.com',
  newEmail: 'xwjqvzomple@example.com',
  bio: 'Kqwjxvünter',
  title: 'Ÿxqwjbrondle',
  unspaced: '龘靐齉爩',
  description: 'Pjxqwzvéndor',
  tag: 'Qxvjwzîrkel',
  message: 'Wjzqxvämpli',
  inOwnSpace: 'Xzjqwvoltri',
  hidden: 'Jqzxwvarnol',
  report: 'Zvqxjwundle',
  reportOfOther: 'Wvzqjxhinto',
};

/** The message of the account in the index. */
const FOLDED_MESSAGE = 'wjzqxvampli';

// PostgreSQL makes no such guarantee. See SECURITY.md.
describe.skipIf(isPostgresql)('The deletion of an account', () => {
  test('leaves no part of its texts in any file', async () => {
    // Mail waits, because nothing listens on this port.
    const mail = { ...mailboxSettings('https://web.example.org'), MAIL_URL: 'smtp://127.0.0.1:1' };
    await using app = await startApp({ ...mail, RATE_LIMITS: 'on' });
    const other = await app.register();
    const foreign = await createSpace(other);
    const dictionaryBefore = await waitForTrie(app);
    const { gone, ids } = await writeTexts(app, other, foreign);
    expect(await indexedWords(app)).toEqual(expect.arrayContaining([FOLDED_MESSAGE]));

    const texts = [...Object.values(CANARIES), ...ids];
    const missing = async () => {
      const bytes = await readDataFiles(app);
      return texts.filter((text) => !bytes.includes(text));
    };
    await expect.poll(missing).toEqual([]);
    const trie = await waitForTrie(app);
    expect(contains(trie, CANARIES.title)).toBe(true);
    expect(contains(trie, CANARIES.description)).toBe(true);

    await deleteAccount(gone);
    // Deletes the file of the avatar.
    await app.context.housekeeping.run();
    const left = await readDataFilesAfterPurge(app);
    const erased = [...Object.values(FORMER_TEXTS), ...Object.values(CANARIES)];
    expect(erased.filter((text) => contains(left, text))).toEqual([]);
    expect(ids.filter((id) => left.includes(id))).toEqual([]);
    // The purge includes the dictionary, so there is no need to wait for it.
    expect(await readTrie(app)).toEqual(dictionaryBefore);
  });

  // FTS5 stores additions and deletions in segments. Whether it merges them depends on their number.
  // Each with its own database, because a second purge waits for ten times the duration of the first one.
  test.each([1, 4, 6])(
    'leaves no part of its spaces in any file, for %i of them',
    async (count) => {
      await using app = await startApp();
      await createSpace(await app.register(), { title: 'Remaining', description: 'Untouched' });
      const gone = await app.register();
      const titles = Array.from({ length: count }, (_, i) => nonsense(count * 7 + i));
      for (const title of titles) await createSpace(gone, { title });
      await deleteAccount(gone);
      const left = await readDataFilesAfterPurge(app);
      expect(titles.filter((title) => contains(left, title))).toEqual([]);
    },
  );
});

describe.skipIf(isPostgresql)('The deletion or edit of a message', () => {
  test('leaves no part of its former text in any file, ten minutes later', async () => {
    await using app = await startApp();
    const ann = await app.register();
    const ben = await app.register();
    const kept = await createSpace(ann);
    const deleted = await createSpace(ann);
    await joinSpace(ben, kept);
    await joinSpace(ben, deleted);
    // So many and so long that SQLite moves rows to other pages, and stores long texts on pages of their own.
    const marks = Array.from({ length: 60 }, (_, i) => nonsense(i) + i);
    const texts = marks.map((mark, i) => `${mark} ${'語'.repeat((i % 5) * 450)} ${mark}`);
    const messages: Message[] = [];
    for (const [i, text] of texts.entries()) {
      messages.push(await sendMessage(i % 2 ? ann : ben, i % 7 === 0 ? deleted : kept, text));
    }
    expect(await indexedWords(app)).toEqual(expect.arrayContaining(marks));
    for (const [i, message] of messages.entries()) {
      const options = {
        client: i % 2 ? ann.client : ben.client,
        path: message,
        throwOnError: true,
      };
      const body = { text: 'Other words '.repeat((i % 3) * 40 + 1) };
      if (i % 3 === 0) await api.deleteMessage(options);
      else if (i % 7 !== 0) await api.editMessage({ ...options, body });
    }
    await api.deleteSpace({ client: ann.client, path: deleted, throwOnError: true });
    const leftIn = (bytes: Buffer) => marks.filter((mark) => bytes.includes(mark));
    expect(leftIn(await readDataFiles(app))).not.toEqual([]);

    const { db } = app.context.engine;
    const requests = await db.selectFrom('pending_purges').select('due_at').execute();
    const latest = new Date(Date.now() + 10 * 60_000).toISOString();
    expect(requests.filter(({ due_at }) => due_at === null || due_at > latest)).toEqual([]);
    await db.updateTable('pending_purges').set({ due_at: new Date().toISOString() }).execute();
    expect(leftIn(await readDataFilesAfterPurge(app))).toEqual([]);
  });
});

/** Indexes all messages. Returns the indexed words. */
async function indexedWords({ context: { engine } }: TestApp): Promise<string[]> {
  await indexMessages(engine, undefined, { minMessages: 1, maxRunMs: 60_000 });
  const rows = await engine.db.selectFrom('message_words').select('word').distinct().execute();
  return rows.map(({ word }) => word);
}

/** Registers an account, and writes all canaries. Returns the account, and ids in its data. */
async function writeTexts(app: TestApp, other: TestUser, foreign: Space) {
  const password = 'correct horse battery';
  const { data } = await api.register({
    client: app.client(),
    body: { username: FORMER_TEXTS.username, email: CANARIES.email, password },
    throwOnError: true,
  });
  const client = app.client(data.access_token);
  const gone = { client };
  await api.changeBio({ client, body: { bio: FORMER_TEXTS.bio }, throwOnError: true });
  const own = await createSpace(gone, {
    title: FORMER_TEXTS.title,
    description: FORMER_TEXTS.description,
    tags: [FORMER_TEXTS.tag],
  });
  const hidden = await createSpace(gone, { title: CANARIES.hidden, visibility: 'private' });
  await joinSpace(gone, foreign);
  await joinSpace(other, own);
  await joinSpace(other, hidden);
  const message = await sendMessage(gone, foreign, `${FORMER_TEXTS.message} and more`);
  const edit = { text: `${CANARIES.message} and more` };
  await api.editMessage({ client, path: message, body: edit, throwOnError: true });
  await sendMessage(other, own, `${CANARIES.inOwnSpace} and more`);
  await api.reportSpace({
    client,
    path: foreign,
    body: { reason: CANARIES.report },
    throwOnError: true,
  });
  await api.reportSpace({
    client: other.client,
    path: own,
    body: { reason: CANARIES.reportOfOther },
    throwOnError: true,
  });
  await api.changeUsername({ client, body: { username: CANARIES.username }, throwOnError: true });
  await api.changeBio({ client, body: { bio: CANARIES.bio }, throwOnError: true });
  await api.updateSpace({
    client,
    path: { space_id: own.space_id },
    body: {
      title: `${CANARIES.title} ${CANARIES.unspaced}`,
      description: `${CANARIES.description} ${CANARIES.unspaced}`,
      tags: [CANARIES.tag],
    },
    throwOnError: true,
  });
  const change = { email: CANARIES.newEmail, currentPassword: password };
  await api.changeEmail({ client, body: change, throwOnError: true });
  const reset = { email: CANARIES.email };
  await api.requestPasswordReset({ client: app.client(), body: reset, throwOnError: true });
  const file = (await uploadAvatar({ client })).split('/').at(-1) ?? '';
  const ids = [data.user_id, own.space_id, hidden.space_id, file];
  return { gone, ids };
}

/**
 * Returns all substrings of 5 bytes of a text, its folded form, its lower case and its skeleton, in UTF-8, and all
 * substrings of 5 code units in UTF-16, the encoding of the dictionary.
 */
function fragmentsOf(text: string): Buffer[] {
  const [word = ''] = text.split('@');
  const folded = word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return [word, folded, word.toLowerCase(), usernameSkeleton(word)].flatMap((form) => {
    const bytes = Buffer.from(form);
    const units = Buffer.from(form, 'utf16le');
    return [
      ...Array.from({ length: bytes.length - 4 }, (_, i) => bytes.subarray(i, i + 5)),
      ...Array.from({ length: form.length - 4 }, (_, i) => units.subarray(2 * i, 2 * (i + 5))),
    ];
  });
}

function contains(bytes: Buffer, text: string): boolean {
  return fragmentsOf(text).some((trace) => bytes.includes(trace));
}

/** Returns ten letters in an order that does not occur in words. They differ for seeds that differ modulo 9. */
function nonsense(seed: number): string {
  const letters = 'qxjzwvkyf';
  return Array.from({ length: 10 }, (_, i) => letters[(seed * (i + 3) + i * i) % 9]).join('');
}

/** Returns names and content of all files in the data folder: database, write-ahead log, limits and avatars. */
async function readDataFiles({ context }: TestApp): Promise<Buffer> {
  const files = await readDataFolder(context.config.dataDir);
  expect(files.map(({ name }) => name)).toContain('space-service.sqlite-wal');
  return Buffer.concat(files.flatMap(({ name, content }) => [Buffer.from(name), content]));
}

/** Waits until all pending purges are complete, then reads the data files. */
async function readDataFilesAfterPurge(app: TestApp): Promise<Buffer> {
  const pending = app.context.engine.db.selectFrom('pending_purges').select('id');
  await expect.poll(() => pending.execute(), { timeout: 60_000 }).toEqual([]);
  return readDataFiles(app);
}

/** Waits until the dictionary is current, then returns its words as they are stored. */
async function waitForTrie(app: TestApp): Promise<Buffer> {
  await waitForDictionary(app);
  return readTrie(app);
}

async function readTrie({ context }: TestApp): Promise<Buffer> {
  const { db } = context.engine.searchIndex;
  const { trie } = await db.selectFrom('dictionary').select('trie').executeTakeFirstOrThrow();
  return Buffer.from(trie);
}
