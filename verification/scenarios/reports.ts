import type { Message } from './actions.ts';
import { createConversation, createSpace, send } from './actions.ts';
import type { User } from './caller.ts';
import { equal, require } from './expectations.ts';
import type { Scenario } from './scenario.ts';

/** As in the description of both operations. */
const MAX_OPEN_REPORTS = 20;

export const reports: Scenario[] = [
  {
    operation: 'reportSpace',
    sentence: 'a user has one open report per space, with the latest reason',
    rule: 'Each user can have one open report per\nspace; repeating the request replaces its reason.',
    async run({ users }) {
      const [ada, creator] = (await users(2)) as [User, User];
      const { space_id } = await createSpace(creator);
      await ada.call('reportSpace', { space_id, reason: 'First' });
      await ada.call('reportSpace', { space_id, reason: 'Second\nline' });
      const { reports } = await ada.call('downloadAccountData');
      equal(
        reports
          .filter((each) => each.space_id === space_id)
          .map((each) => [each.space_id, each.message_id, each.reason]),
        [[space_id, null, 'Second\nline']],
        'Reports of the caller',
      );
      const ofCreator = (await creator.call('downloadAccountData')).reports;
      equal(
        ofCreator.filter((each) => each.space_id === space_id),
        [],
        'Reports of the creator of the space',
      );
    },
  },
  {
    operation: 'reportMessage',
    sentence: 'a user has one open report per message, until the message is deleted',
    rule: 'Each user can have one open report\nper message; repeating the request replaces its reason.',
    async run({ users }) {
      const [ada, creator] = (await users(2)) as [User, User];
      const { messages } = await createConversation(creator, 'public');
      const [{ message_id }] = messages as [Message];
      await ada.call('reportMessage', { message_id, reason: 'First' });
      await ada.call('reportMessage', { message_id, reason: 'Second' });
      const reasons = async () =>
        (await ada.call('downloadAccountData')).reports
          .filter((each) => each.message_id === message_id)
          .map((each) => [each.space_id, each.message_id, each.reason]);
      equal(await reasons(), [[null, message_id, 'Second']], 'Reports');
      await creator.call('deleteMessage', { message_id });
      equal(await reasons(), [], 'Reports after deleteMessage');
    },
  },
  {
    operation: 'reportUser',
    sentence:
      'a user has one open report per user, which moderators and the reported user do not see',
    rule: 'Only the operator sees the report. Each\nuser can have one open report per user; repeating the request replaces its reason.',
    async run({ users, word }) {
      const [ada, reported] = (await users(2)) as [User, User];
      const { space_id } = await createSpace(reported);
      const user_id = reported.id;
      for (const reason of ['First', 'Second']) await ada.call('reportUser', { user_id, reason });
      const reasons = async () =>
        (await ada.call('downloadAccountData')).reports
          .filter((each) => each.user_id === user_id)
          .map((each) => [each.space_id, each.message_id, each.reason]);
      equal(await reasons(), [[null, null, 'Second']], 'Reports');
      equal((await reported.call('listReports', { space_id })).items, [], 'listReports');
      await ada.refused('reportUser', { user_id: word(), reason: 'x' }, 'user_not_found');
      await ada.call('withdrawUserReport', { user_id });
      equal(await reasons(), [], 'Reports after withdrawUserReport');
    },
  },
  {
    operation: 'listReports',
    sentence:
      'moderators see the reports about the space and its messages, except those about themselves',
    rule: 'Omits reports about the caller: about messages that the caller wrote, and about a space that the caller\ncreated.',
    async run({ users }) {
      const [ada, grace, author, reporter] = (await users(4)) as [User, User, User, User];
      const { space, messages } = await createConversation(ada, 'private', grace, author, reporter);
      const { space_id } = space;
      const [ofAda, ofGrace, ofAuthor] = messages as [Message, Message, Message];
      await ada.call('appointModerator', { space_id, user_id: grace.id });
      for (const { message_id } of [ofAda, ofGrace, ofAuthor]) {
        await reporter.call('reportMessage', { message_id, reason: message_id });
      }
      await reporter.call('reportSpace', { space_id, reason: 'The space' });
      const seenBy = async (caller: User) =>
        (await caller.call('listReports', { space_id })).items.map(({ reason, message }) => [
          reason,
          message?.message_id ?? null,
          message?.author.user_id ?? null,
        ]);
      const reportOf = ({ message_id, author: { user_id } }: Message) => [
        message_id,
        message_id,
        user_id,
      ];
      const ofSpace = ['The space', null, null];
      equal(await seenBy(ada), [reportOf(ofAuthor), reportOf(ofGrace)], 'Reports for the creator');
      equal(
        await seenBy(grace),
        [ofSpace, reportOf(ofAuthor), reportOf(ofAda)],
        'Reports for a moderator',
      );
      const text = JSON.stringify(await grace.call('listReports', { space_id }));
      require(!text.includes(reporter.id), 'listReports tells who has sent a report.');
      await ada.call('deleteMessage', { message_id: ofAuthor.message_id });
      equal(await seenBy(ada), [reportOf(ofGrace)], 'Reports after deleteMessage');
    },
  },
  {
    operation: 'withdrawSpaceReport',
    sentence: 'deletes only the report about the space, of the caller, even without access to it',
    rule: "Deletes the caller's open report about the space. Has no effect if there is none, whether the space exists or not.",
    async run({ users, word }) {
      const [ada, grace, other] = (await users(3)) as [User, User, User];
      const { space, messages } = await createConversation(ada, 'private', grace, other);
      const { space_id } = space;
      const [{ message_id }] = messages as [Message];
      for (const user of [grace, other]) {
        await user.call('reportSpace', { space_id, reason: 'x' });
        await user.call('reportMessage', { message_id, reason: 'x' });
      }
      await grace.call('leaveSpace', { space_id });
      const targets = async (user: User) =>
        (await user.call('downloadAccountData')).reports
          .filter((each) => each.space_id === space_id || each.message_id === message_id)
          .map((each) => (each.space_id === null ? 'message' : 'space'))
          .sort();
      equal(await targets(grace), ['message', 'space'], 'Reports');
      await grace.call('withdrawSpaceReport', { space_id });
      await grace.call('withdrawSpaceReport', { space_id });
      await grace.call('withdrawSpaceReport', { space_id: word() });
      equal(await targets(grace), ['message'], 'Reports after withdrawSpaceReport');
      await grace.call('withdrawMessageReport', { message_id });
      equal(await targets(grace), [], 'Reports after withdrawMessageReport');
      equal(await targets(other), ['message', 'space'], 'Reports of another user');
    },
  },
  {
    operation: 'withdrawMessageReport',
    sentence: 'makes room for another report',
    rule: "Deletes the caller's open report about the message.",
    async run({ users }) {
      const [ada, creator] = (await users(2)) as [User, User];
      const { messages } = await createConversation(creator, 'public');
      const [{ message_id }] = messages as [Message];
      const reasons = async () =>
        (await ada.call('downloadAccountData')).reports
          .filter((each) => each.message_id === message_id)
          .map(({ reason }) => reason);
      await ada.call('reportMessage', { message_id, reason: 'First' });
      await ada.call('withdrawMessageReport', { message_id });
      equal(await reasons(), [], 'Reports after withdrawMessageReport');
      await ada.call('reportMessage', { message_id, reason: 'Second' });
      equal(await reasons(), ['Second'], 'Reports');
      await ada.call('withdrawMessageReport', { message_id });
    },
  },
  {
    operation: 'withdrawUserReport',
    sentence: 'leaves the reports of others about the user',
    rule: "Deletes the caller's open report about the user.",
    async run({ users }) {
      const [ada, grace, reported] = (await users(3)) as [User, User, User];
      const user_id = reported.id;
      for (const user of [ada, grace]) await user.call('reportUser', { user_id, reason: 'x' });
      await ada.call('withdrawUserReport', { user_id });
      const count = async (user: User) =>
        (await user.call('downloadAccountData')).reports.filter((each) => each.user_id === user_id)
          .length;
      equal([await count(ada), await count(grace)], [0, 1], 'Reports');
      await grace.call('withdrawUserReport', { user_id });
    },
  },
  {
    operation: 'reportMessage',
    sentence: 'a user has at most 20 open reports, of spaces, messages and users together',
    rule: 'Returns 409 if the caller has 20 open reports.',
    async run({ newcomer, user }) {
      const [ada, creator] = [await newcomer(), await user()];
      const space = await createSpace(creator);
      const { space_id } = space;
      await ada.call('reportSpace', { space_id, reason: 'x' });
      const reported: string[] = [];
      for (let i = 1; i < MAX_OPEN_REPORTS; i += 1) {
        const { message_id } = await send(creator, space);
        await ada.call('reportMessage', { message_id, reason: 'x' });
        reported.push(message_id);
      }
      const further = await send(creator, space);
      const report = { message_id: further.message_id, reason: 'x' };
      await ada.refused('reportMessage', report, 'too_many_reports');
      await ada.refused(
        'reportSpace',
        { space_id: (await createSpace(creator)).space_id, reason: 'x' },
        'too_many_reports',
      );
      const user_id = creator.id;
      await ada.refused('reportUser', { user_id, reason: 'x' }, 'too_many_reports');
      // A changed reason is no further report.
      await ada.call('reportSpace', { space_id, reason: 'y' });
      await creator.call('deleteMessage', { message_id: reported[0] });
      await ada.call('reportMessage', report);
    },
  },
];
