import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Space } from '../../generated/types.gen.ts';
import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { removeMessage } from '../../server/messages/messages.ts';
import { closeReports, listReports, type Report } from '../../server/reports/open-reports.ts';
import { removeSpace } from '../../server/spaces/space-deletion.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let author: TestUser;
let reporter: TestUser;
beforeAll(async () => {
  author = await app.register('author');
  reporter = await app.register('reporter');
});

const reportSpace = ({ client }: TestUser, { space_id }: Space, reason = 'Spam') =>
  api.reportSpace({ client, path: { space_id }, body: { reason } });

const reportMessage = ({ client }: TestUser, { message_id }: Message, reason = 'Spam') =>
  api.reportMessage({ client, path: { message_id }, body: { reason } });

/** Returns all open reports of a reporter, newest first. */
async function reportsBy({ userId }: TestUser): Promise<Report[]> {
  const { items } = await listReports(app.context.engine, { limit: 1_000 });
  return items.filter(({ reporter_id }) => reporter_id === userId);
}

describe('reportSpace and reportMessage', () => {
  test('send a report with the ids that the operator needs', async () => {
    const space = await createSpace(author, { title: 'Bargains' });
    const message = await sendMessage(author, space, 'Buy this');
    const { data, response } = await reportSpace(reporter, space, 'Counterfeit\ngoods');
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'The operator of this server will review your report.' });
    expect((await reportMessage(reporter, message, 'Advertising')).response?.status).toBe(200);
    const common = {
      report_id: expect.any(String),
      created_at: expect.any(String),
      reporter_id: reporter.userId,
      reporter_username: reporter.username,
      space_id: space.space_id,
      title: 'Bargains',
      author_id: author.userId,
      edited_at: null,
      author_username: author.username,
    };
    expect(await reportsBy(reporter)).toEqual([
      { ...common, reason: 'Advertising', message_id: message.message_id, text: 'Buy this' },
      { ...common, reason: 'Counterfeit\ngoods', message_id: null, text: null },
    ]);
  });

  test('keep one report per reporter and target, with the latest reason', async () => {
    const [user, other] = [await app.register(), await app.register()];
    const space = await createSpace(author);
    const message = await sendMessage(author, space, 'Hello');
    for (const reason of ['First', 'Second']) {
      await reportSpace(user, space, reason);
      await reportMessage(user, message, reason);
    }
    await reportSpace(other, space, 'Third');
    expect((await reportsBy(user)).map(({ reason }) => reason)).toEqual(['Second', 'Second']);
    expect((await reportsBy(other)).map(({ reason }) => reason)).toEqual(['Third']);
  });

  test('accept a reason of 1,000 code points', async () => {
    const reason = '😀'.repeat(1_000);
    const { response } = await reportSpace(reporter, await createSpace(author), reason);
    expect(response?.status).toBe(200);
  });

  test('reject the 21st open report of a reporter, but replace the reason of an existing one', async () => {
    const user = await app.register();
    const space = await createSpace(author);
    const messages: Message[] = [];
    for (let i = 0; i < 20; i += 1) messages.push(await sendMessage(author, space, `Spam ${i}`));
    const [first] = messages as [Message];
    for (const message of messages) {
      expect((await reportMessage(user, message)).response?.status).toBe(200);
    }
    const { error } = await reportSpace(user, space);
    expect(error).toMatchObject({
      status: 409,
      code: 'too_many_reports',
      detail:
        'You have 20 open reports. Withdraw one, or wait until the operator has handled some.',
    });
    const another = await sendMessage(author, space, 'Spam');
    expect(await getError(reportMessage(user, another))).toBe('409 too_many_reports');
    const target = { path: { user_id: author.userId }, body: { reason: 'Spam' } };
    const person = api.reportUser({ client: user.client, ...target });
    expect(await getError(person)).toBe('409 too_many_reports');
    expect((await reportMessage(user, first, 'Changed')).response?.status).toBe(200);
    const reports = await reportsBy(user);
    expect(reports).toHaveLength(20);
    expect(reports.at(-1)?.reason).toBe('Changed');

    const { engine } = app.context;
    await closeReports(engine, [reports[0]?.report_id as string]);
    expect((await reportSpace(user, space)).response?.status).toBe(200);
  });
});

describe('reportUser', () => {
  test('sends a report that only the operator sees, once per user', async () => {
    const [user, reported] = [await app.register(), await app.register()];
    const { space_id } = await createSpace(reported);
    const { client } = user;
    const path = { user_id: reported.userId };
    for (const reason of ['First', 'Second']) {
      const { data } = await api.reportUser({ client, path, body: { reason } });
      expect(data).toEqual({ message: 'The operator of this server will review your report.' });
    }
    expect(await reportsBy(user)).toMatchObject([
      { reason: 'Second', author_id: reported.userId, space_id: null, title: null, text: null },
    ]);
    expect(await reportsSeenBy(reported, { space_id })).toEqual([]);
    const unknown = { path: { user_id: 'unknown' }, body: { reason: 'Spam' } };
    expect(await getError(api.reportUser({ client, ...unknown }))).toBe('404 user_not_found');
  });

  test('sends a report that is deleted with the account of the reported user', async () => {
    const [user, reported] = [await app.register(), await app.register()];
    const target = { path: { user_id: reported.userId }, body: { reason: 'Spam' } };
    await api.reportUser({ client: user.client, ...target, throwOnError: true });
    await api.deleteAccount({ client: reported.client, throwOnError: true });
    expect(await reportsBy(user)).toEqual([]);
  });
});

/** Returns the reasons of the reports that a moderator sees, newest first. */
async function reportsSeenBy({ client }: TestUser, { space_id }: Pick<Space, 'space_id'>) {
  const { data } = await api.listReports({ client, query: { space_id }, throwOnError: true });
  return data.items.map(({ reason }) => reason);
}

describe('listReports', () => {
  test('returns the reports about a space and its messages, except those about the caller', async () => {
    const [creator, moderator] = [await app.register(), await app.register()];
    const space = await createSpace(creator, { visibility: 'private' });
    for (const user of [moderator, author, reporter]) await joinSpace(user, space);
    const path = { space_id: space.space_id, user_id: moderator.userId };
    await api.appointModerator({ client: creator.client, path, throwOnError: true });
    await reportSpace(reporter, space, 'Space');
    const spam = await sendMessage(author, space, 'Buy this');
    await reportMessage(reporter, spam, 'By the author');
    await reportMessage(reporter, await sendMessage(creator, space, 'I rule'), 'By the creator');
    await reportMessage(reporter, await sendMessage(moderator, space, 'Me, too'), 'By moderator');
    // Of another space.
    await reportMessage(
      reporter,
      await sendMessage(author, await createSpace(author), 'Hi'),
      'Elsewhere',
    );
    expect(await reportsSeenBy(creator, space)).toEqual(['By moderator', 'By the author']);
    expect(await reportsSeenBy(moderator, space)).toEqual([
      'By the creator',
      'By the author',
      'Space',
    ]);
    const query = { space_id: space.space_id };
    const { data } = await api.listReports({ client: moderator.client, query, throwOnError: true });
    expect(data.items[1]).toEqual({
      report_id: expect.any(String),
      reason: 'By the author',
      created_at: expect.any(String),
      message: {
        message_id: spam.message_id,
        author: spam.author,
        text: 'Buy this',
        created_at: spam.created_at,
      },
    });
    expect(data.items[2]?.message).toBeNull();
    await api.deleteMessage({ client: moderator.client, path: spam, throwOnError: true });
    expect(await reportsSeenBy(creator, space)).toEqual(['By moderator']);
  });
});

describe('withdrawSpaceReport, withdrawMessageReport and withdrawUserReport', () => {
  test("delete only the caller's report about that, even without access to it", async () => {
    const [user, creator] = [await app.register(), await app.register()];
    const space = await createSpace(creator, { visibility: 'private' });
    await joinSpace(user, space);
    const message = await sendMessage(creator, space, 'Hello');
    const { client } = user;
    const person = { user_id: creator.userId };
    await api.reportUser({ client, path: person, body: { reason: 'User' }, throwOnError: true });
    await reportSpace(user, space, 'Space');
    await reportMessage(user, message, 'Message');
    await reportSpace(creator, space, 'Of another');
    await api.leaveSpace({ client, path: space, throwOnError: true });
    const reasons = async () => (await reportsBy(user)).map(({ reason }) => reason);
    await api.withdrawSpaceReport({ client, path: space, throwOnError: true });
    expect(await reasons()).toEqual(['Message', 'User']);
    await api.withdrawUserReport({ client, path: person, throwOnError: true });
    expect(await reasons()).toEqual(['Message']);
    for (let i = 0; i < 2; i += 1) {
      await api.withdrawMessageReport({ client, path: message, throwOnError: true });
    }
    expect(await reasons()).toEqual([]);
    expect(await reportsBy(creator)).toHaveLength(1);
  });
});

describe('closeReports', () => {
  test('closes the given reports, or none if one is unknown', async () => {
    const { engine } = app.context;
    const user = await app.register();
    for (let i = 0; i < 3; i += 1) await reportSpace(user, await createSpace(author));
    const [newest, middle, oldest] = (await reportsBy(user)).map(({ report_id }) => report_id) as [
      string,
      string,
      string,
    ];
    expect(await closeReports(engine, [newest, 'unknown'])).toBe('unknown');
    expect(await reportsBy(user)).toHaveLength(3);
    expect(await closeReports(engine, [newest, oldest])).toBeUndefined();
    expect((await reportsBy(user)).map(({ report_id }) => report_id)).toEqual([middle]);
  });
});

describe('Reports', () => {
  const openReports = async () => {
    const [user, writer] = [await app.register(), await app.register()];
    const space = await createSpace(writer);
    const foreign = await createSpace(author);
    await joinSpace(writer, foreign);
    const messages = [
      await sendMessage(writer, space, 'In their own space'),
      await sendMessage(writer, foreign, 'In the space of another'),
    ];
    await reportSpace(user, space);
    for (const message of messages) await reportMessage(user, message);
    const [inOwn, inForeign] = messages as [Message, Message];
    return { user, writer, space, foreign, inOwn, inForeign };
  };

  test('are deleted with the account of the reporter', async () => {
    const { user } = await openReports();
    await api.deleteAccount({ client: user.client, throwOnError: true });
    expect(await reportsBy(user)).toEqual([]);
  });

  test('are deleted with the account of the author', async () => {
    const { user, writer } = await openReports();
    await api.deleteAccount({ client: writer.client, throwOnError: true });
    expect(await reportsBy(user)).toEqual([]);
  });

  test('are deleted with the reported space', async () => {
    const { user, writer, space, inForeign } = await openReports();
    await api.deleteSpace({ client: writer.client, path: space, throwOnError: true });
    expect(await reportsBy(user)).toMatchObject([{ message_id: inForeign.message_id }]);
  });

  test('are deleted with the reported message', async () => {
    const { user, writer, inOwn } = await openReports();
    await api.deleteMessage({ client: writer.client, path: inOwn, throwOnError: true });
    expect(await reportsBy(user)).toHaveLength(2);
  });

  test('are deleted with a space or message that the operator removes', async () => {
    const { user, foreign, inOwn } = await openReports();
    const { engine } = app.context;
    expect(await removeMessage(engine, inOwn.message_id)).toBe(true);
    expect(await reportsBy(user)).toHaveLength(2);
    expect(await removeSpace(engine, foreign.space_id)).toBe(true);
    expect(await reportsBy(user)).toMatchObject([{ message_id: null }]);
    expect(await removeMessage(engine, inOwn.message_id)).toBe(false);
    expect(await removeSpace(engine, foreign.space_id)).toBe(false);
  });

  test('are kept when the author and the reporter are suspended', async () => {
    const { user, writer } = await openReports();
    const before = await reportsBy(user);
    await suspendAccount(app.context.engine, writer.userId);
    await suspendAccount(app.context.engine, user.userId);
    expect(await reportsBy(user)).toEqual(before);
  });
});

test('removeSpace and removeMessage remove content from searches, lists and statistics', async () => {
  const { engine } = app.context;
  const user = await app.register();
  const space = await createSpace(author, { title: 'Wombat bargains', tags: ['wombat'] });
  await joinSpace(user, space);
  const message = await sendMessage(user, space, 'two words');
  await sendMessage(user, space, 'three other words');
  const stats = async () =>
    (await api.getProfile({ client: user.client, throwOnError: true })).data.stats;
  expect(await stats()).toMatchObject({ spaces_participated: 1, total_words_contributed: 5 });
  await removeMessage(engine, message.message_id);
  expect(await stats()).toMatchObject({ spaces_participated: 1, total_words_contributed: 3 });
  await removeSpace(engine, space.space_id);
  expect(await stats()).toMatchObject({ spaces_participated: 0, total_words_contributed: 0 });
  const { client } = user;
  expect((await api.searchSpaces({ client, query: { q: 'wombat' } })).data).toEqual([]);
  expect((await api.searchSpacesByTag({ client, path: { tag: 'wombat' } })).data).toEqual([]);
  expect((await api.listParticipations({ client })).data?.items).toEqual([]);
});
