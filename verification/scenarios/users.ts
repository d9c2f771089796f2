import { createSpace, join } from './actions.ts';
import type { User } from './caller.ts';
import { equal } from './expectations.ts';
import type { Scenario } from './scenario.ts';

export const users: Scenario[] = [
  {
    operation: 'getUser',
    sentence: 'signed-in users read what is public about a user, and nothing else',
    rule: 'The email address is never\nincluded.',
    async run({ user, anonymous, word }) {
      const [ada, reader] = [await user(), await user()];
      await ada.call('changeBio', { bio: 'A bio.' });
      const { user_id, username, bio, profile_picture, created_at } = await ada.call('getProfile');
      const expected = { user_id, username, bio, profile_picture, created_at, is_blocked: false };
      equal(
        await reader.call('getUser', { user_id }),
        expected,
        'The user as another user sees it',
      );
      equal(
        await ada.call('getUser', { user_id }),
        expected,
        'The user as the user itself sees it',
      );
      await anonymous.refused('getUser', { user_id }, 'unauthenticated');
      await reader.refused('getUser', { user_id: word() }, 'user_not_found');
    },
  },
  {
    operation: 'findUsers',
    sentence: 'finds only users who share a space with the caller',
    rule: 'Returns the users whose usernames begin with `q`, among those who share a space with the caller, in the order of their\nnames.',
    async run({ newcomer, anonymous }) {
      // Other users may share spaces of other scenarios.
      const [ada, grace, stranger] = [await newcomer(), await newcomer(), await newcomer()];
      const space = await createSpace(ada, { visibility: 'private' });
      const { space_id } = space;
      await join(space, grace);
      const found = async (caller: User, { account: { username } }: User) => {
        const { items } = await caller.call('findUsers', { q: username });
        return items.map(({ user_id }) => user_id);
      };
      equal(await found(ada, grace), [grace.id], 'Users found by the creator');
      equal(await found(grace, ada), [ada.id], 'Users found by a participant');
      equal(await found(ada, ada), [], 'The caller');
      equal(await found(stranger, grace), [], 'Users found by a stranger');
      equal((await ada.call('findUsers', { q: '  ' })).items, [], 'Users found by blanks');
      await grace.call('leaveSpace', { space_id });
      equal(await found(ada, grace), [], 'Users found after leaveSpace');
      await anonymous.refused('findUsers', { q: 'a' }, 'unauthenticated');
    },
  },
  {
    operation: 'listUserSpaces',
    sentence: 'contains the public spaces that the user created, as a search finds them',
    rule: 'Returns the public spaces that a user created, newest first.',
    async run({ newcomer, user, anonymous, word }) {
      const [ada, other] = [await newcomer(), await user()];
      const [title, user_id] = [word(), ada.id];
      const first = await createSpace(ada, { title });
      await createSpace(ada, { visibility: 'private' });
      const joined = await createSpace(other);
      await ada.call('joinSpace', { space_id: joined.space_id });
      const last = await createSpace(ada);
      const { items } = await other.call('listUserSpaces', { user_id });
      equal(
        items.map(({ space_id }) => space_id),
        [last.space_id, first.space_id],
        'Spaces of the user',
      );
      const [found] = await anonymous.call('searchSpaces', { q: title });
      equal(items[1], { ...found, participation: null }, 'The space in the list');
      const { participation } = first;
      equal(
        (await ada.call('listUserSpaces', { user_id })).items[1],
        { ...found, participation },
        'The space as the user itself sees it',
      );
      await other.refused('listUserSpaces', { user_id: word() }, 'user_not_found');
    },
  },
];
