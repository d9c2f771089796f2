import type { Message } from './actions.ts';
import { createConversation, createSpace, send } from './actions.ts';
import type { User } from './caller.ts';
import { equal } from './expectations.ts';
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
    operation: 'reportMessage',
    sentence: 'a user has at most 20 open reports, of spaces and messages together',
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
      // A changed reason is no further report.
      await ada.call('reportSpace', { space_id, reason: 'y' });
      await creator.call('deleteMessage', { message_id: reported[0] });
      await ada.call('reportMessage', report);
    },
  },
];
