import { createSpace } from './actions.ts';
import { equal, require } from './expectations.ts';
import type { Scenario } from './scenario.ts';

export const tokens: Scenario[] = [
  {
    operation: 'createToken',
    sentence: 'a program acts as its owner, within its scopes',
    rule: 'No scope includes another one.',
    async run({ user, newcomer }) {
      const [owner, other] = [await newcomer(), await user()];
      const space_id = (await createSpace(other)).space_id;
      const body = { name: '  Bot\t', scopes: ['read'], expires_at: null };
      const token = await owner.call('createToken', body);
      equal([token.name, token.scopes], ['Bot', ['read']], 'Name and scopes');
      const reader = owner.withToken(token.access_token);
      equal((await reader.call('getProfile')).user_id, owner.id, 'user_id');
      await reader.call('getSpace', { space_id });
      await reader.refused('joinSpace', { space_id }, 'insufficient_scope');
      await reader.refused('changeBio', { bio: 'Hello' }, 'insufficient_scope');
      await reader.refused('listSessions', {}, 'session_required');
      await reader.refused('createToken', body, 'session_required');
      await reader.refused('deleteAccount', {}, 'session_required');
      const second = await owner.call('createToken', { name: 'Writer', scopes: ['write'] });
      const writer = owner.withToken(second.access_token);
      await writer.call('joinSpace', { space_id });
      await writer.refused('listParticipations', {}, 'insufficient_scope');
      // The token is optional.
      await writer.refused('getSpace', { space_id }, 'insufficient_scope');
    },
  },
  {
    operation: 'createToken',
    sentence: 'an access token expires in the future, if at all',
    rule: 'When the token stops working: a time in the future',
    async run({ newcomer }) {
      const owner = await newcomer();
      const body = { name: 'Bot', scopes: ['read'] };
      const past = { ...body, expires_at: '2020-01-01T00:00:00.000Z' };
      await owner.refused('createToken', past, 'invalid_request');
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      equal(
        (await owner.call('createToken', { ...body, expires_at })).expires_at,
        expires_at,
        'expires_at',
      );
    },
  },
  {
    operation: 'listTokens',
    sentence: 'returns the access tokens of the caller without the tokens themselves, newest first',
    rule: 'newest first. The\ntokens themselves are never included.',
    async run({ newcomer, user }) {
      const [owner, other] = [await newcomer(), await user()];
      const create = (name: string) => owner.call('createToken', { name, scopes: ['read'] });
      const created = [await create('First'), await create('Second')];
      const list = await owner.call('listTokens');
      equal(
        list.items.map(({ name }) => name),
        ['Second', 'First'],
        'Names',
      );
      const text = JSON.stringify(list);
      for (const { access_token, token_id } of created) {
        require(!text.includes(access_token), 'The list contains an access token');
        await other.refused('revokeToken', { token_id }, 'token_not_found');
        // A token is no session.
        await owner.refused('endSession', { session_id: token_id }, 'session_not_found');
      }
      equal((await owner.call('listSessions')).items.length, 1, 'Number of sessions');
    },
  },
  {
    operation: 'revokeToken',
    sentence: 'the token stops working, and a new password keeps the others',
    rule: 'The token stops working immediately.',
    async run({ newcomer, word }) {
      const owner = await newcomer();
      const create = () => owner.call('createToken', { name: 'Bot', scopes: ['read'] });
      const [first, second] = [await create(), await create()];
      const [bot, mirror] = [first, second].map((each) => owner.withToken(each.access_token));
      await bot?.call('getProfile');
      await owner.call('revokeToken', { token_id: first.token_id });
      await bot?.refused('getProfile', {}, 'unauthenticated');
      const { password } = owner.account;
      await owner.call('changePassword', { currentPassword: password, newPassword: word() });
      await mirror?.call('getProfile');
    },
  },
];
