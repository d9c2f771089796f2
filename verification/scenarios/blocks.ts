import { createConversation, join, type Message, reread, send } from './actions.ts';
import type { Caller, User } from './caller.ts';
import { equal } from './expectations.ts';
import type { Scenario } from './scenario.ts';

export const blocks: Scenario[] = [
  {
    operation: 'blockUser',
    sentence: 'messages of a blocked user are marked for the caller only',
    rule: 'Marks the messages of a user with `is_blocked`, for the caller only, so that clients can hide them.',
    async run({ users, anonymous }) {
      const [ada, grace, mallory] = (await users(3)) as [User, User, User];
      const { space, messages } = await createConversation(ada, 'public', grace, mallory);
      const { space_id } = space;
      const [, ofGrace, ofMallory] = messages as [Message, Message, Message];
      const markedFor = async (caller: Caller) =>
        (await caller.call('listMessages', { space_id })).items
          .filter(({ is_blocked }) => is_blocked)
          .map(({ message_id }) => message_id);
      const block = await ada.call('blockUser', { user_id: mallory.id });
      equal(block.user.user_id, mallory.id, 'user');
      equal(await ada.call('blockUser', { user_id: mallory.id }), block, 'The second response');
      equal(await markedFor(ada), [ofMallory.message_id], 'Marked messages for the caller');
      const { message_id } = ofMallory;
      equal((await ada.call('getMessage', { message_id })).is_blocked, true, 'is_blocked');
      for (const caller of [grace, mallory, anonymous]) {
        equal(await markedFor(caller), [], 'Marked messages for others');
      }
      equal(
        (await mallory.call('listBlocks')).items.map(({ user }) => user.user_id).includes(ada.id),
        false,
        'listBlocks',
      );
      equal(ofGrace.is_blocked, false, 'is_blocked of a sent message');
      await ada.call('unblockUser', { user_id: mallory.id });
      equal(await markedFor(ada), [], 'Marked messages after unblockUser');
    },
  },
  {
    operation: 'blockUser',
    sentence: 'mentions by a blocked user are not counted, and the author does not notice',
    rule: 'Nobody learns of it: for others, including the blocked user, nothing changes.',
    async run({ users }) {
      const [ada, mallory] = (await users(2)) as [User, User];
      const { space } = await createConversation(mallory, 'private');
      const { space_id } = space;
      await join(space, ada);
      const { username } = await ada.call('getProfile');
      const mentions = async () =>
        (await ada.call('getParticipation', { space_id })).unread_mentions;
      await send(mallory, space, `@${username} one`);
      equal(await mentions(), 1, 'unread_mentions');
      await ada.call('blockUser', { user_id: mallory.id });
      const sent = await send(mallory, space, `@${username} two`);
      equal(
        sent.mentions.map(({ user_id }) => user_id),
        [ada.id],
        'mentions for the blocked user',
      );
      equal(await mentions(), 0, 'unread_mentions after blockUser');
      await ada.call('unblockUser', { user_id: mallory.id });
      equal(await mentions(), 2, 'unread_mentions after unblockUser');
    },
  },
  {
    operation: 'blockUser',
    sentence: 'users cannot block themselves or unknown users',
    rule: "Returns 403 for the caller's own account.",
    async run({ user, word }) {
      const ada = await user();
      await ada.refused('blockUser', { user_id: ada.id }, 'own_account');
      await ada.refused('blockUser', { user_id: word() }, 'user_not_found');
    },
  },
  {
    operation: 'unblockUser',
    sentence: 'has no effect on users who are not blocked, or do not exist',
    rule: 'Has no effect if there is none, whether the user exists or not.',
    async run({ users, word }) {
      const [ada, grace, mallory] = (await users(3)) as [User, User, User];
      await ada.call('blockUser', { user_id: mallory.id });
      for (const user_id of [grace.id, word()]) await ada.call('unblockUser', { user_id });
      const blockedBy = async (caller: User) =>
        (await caller.call('listBlocks')).items.map(({ user }) => user.user_id);
      equal((await blockedBy(ada)).includes(mallory.id), true, 'The block of another user');
      await grace.call('unblockUser', { user_id: mallory.id });
      equal((await blockedBy(ada)).includes(mallory.id), true, 'The block by another user');
      await ada.call('unblockUser', { user_id: mallory.id });
      equal((await blockedBy(ada)).includes(mallory.id), false, 'The block after unblockUser');
    },
  },
  {
    operation: 'updateParticipation',
    sentence: 'a muted space has no unread messages, until that ends or the user joins again',
    rule: 'With `muted`, `unread_count` and `unread_mentions` of the space are 0, and\ntotals do not include it. Read positions go on, so the counts are right again when it ends. Joining the space\nagain ends it.',
    async run({ newcomer, user }) {
      const [ada, grace] = [await newcomer(), await user()];
      const { space } = await createConversation(grace, 'public');
      const { space_id } = space;
      await join(space, ada);
      const { username } = await ada.call('getProfile');
      await send(grace, space, `@${username} one`);
      const counts = async () => {
        const { items, unread } = await ada.call('listParticipations');
        const each = items.find((item) => item.space.space_id === space_id);
        return [each?.muted, each?.unread_count, each?.unread_mentions, unread?.message_count];
      };
      equal(await counts(), [false, 1, 1, 1], 'Counts');
      const changed = await ada.call('updateParticipation', { space_id, muted: true });
      equal([changed.muted, changed.unread_count], [true, 0], 'The response');
      equal(await counts(), [true, 0, 0, 0], 'Counts of a muted space');
      await ada.call('updateParticipation', { space_id, muted: true });
      await ada.call('updateParticipation', { space_id, muted: false });
      equal(await counts(), [false, 1, 1, 1], 'Counts afterwards');
      await ada.call('updateParticipation', { space_id, muted: true });
      await ada.call('leaveSpace', { space_id });
      await join(await reread(ada, space), ada);
      equal(
        (await ada.call('getParticipation', { space_id })).muted,
        false,
        'muted after joining again',
      );
    },
  },
];
