import { setTimeout as sleep } from 'node:timers/promises';
import { createSpace } from './actions.ts';
import { equal, require } from './expectations.ts';
import type { Scenario } from './scenario.ts';

/** How long a session stays unused. A longer lifetime is not awaited. */
const MAX_IDLE_SECONDS = 4;

const WRONG_PASSWORD = 'this is not the password';

export const auth: Scenario[] = [
  {
    operation: 'register',
    sentence: 'a new account can be used at once, and has the registered name and address',
    rule: 'Creates an account and starts its first session.',
    async run({ newcomer, signIn }) {
      const user = await newcomer();
      const { username, email } = user.account;
      const profile = await user.call('getProfile');
      equal(profile.user_id, user.id, 'user_id');
      equal([profile.username, profile.email], [username, email], 'Username and email address');
      equal([profile.bio, profile.is_verified], ['', false], 'Bio and is_verified');
      equal(
        profile.stats,
        {
          spaces_created: 0,
          spaces_participated: 0,
          total_words_contributed: 0,
          total_appreciations_received: 0,
        },
        'The statistics of a new account',
      );
      equal((await (await signIn(user)).call('getProfile')).user_id, user.id, 'user_id');
    },
  },
  {
    operation: 'register',
    sentence: 'a username and an email address belong to one account, in any case',
    rule: 'Returns 409 if the username is taken or reserved, or if the email address is taken.',
    async run({ anonymous, user, word }) {
      const { account } = await user();
      const { username, email } = account;
      const password = word();
      const other = `${word()}@example.com`;
      const refused = (fields: object, code: string | string[]) =>
        anonymous.refused('register', { password, ...fields }, code);
      await refused({ username, email: other }, 'username_taken');
      await refused({ username: username.toUpperCase(), email: other }, 'username_taken');
      await refused({ username: word(), email }, 'email_taken');
      await refused({ username: word(), email: email.toUpperCase() }, 'email_taken');
      await refused({ username: 'admin', email: other }, ['username_reserved', 'username_taken']);
      // Refused registrations leave nothing.
      await anonymous.refused('login', { email: other, password }, 'credentials_incorrect');
      equal(
        (await (await user()).call('getUser', { user_id: account.userId })).username,
        username,
        'Username',
      );
    },
  },
  {
    operation: 'register',
    sentence: 'a username that looks like another one is taken',
    rule: 'or if they look alike, such as `modem` and\n`modern`',
    async run({ newcomer, anonymous, word }) {
      const user = await newcomer();
      const suffix = word().slice(-8);
      await user.call('changeUsername', { username: `modem-${suffix}` });
      const body = { email: `${word()}@example.com`, password: word() };
      for (const username of [`modern-${suffix}`, `ｍodem-${suffix}`]) {
        await anonymous.refused('register', { ...body, username }, 'username_taken');
      }
    },
  },
  {
    operation: 'register',
    sentence: 'a weak or personal password is refused',
    rule: 'Must not be one of the 3,000 most\ncommon passwords.',
    async run({ anonymous, word }) {
      const username = `user-${word()}`.slice(0, 30);
      const email = `${word()}@example.com`;
      const refused = (password: string, code: string | string[]) =>
        anonymous.refused('register', { username, email, password }, code);
      for (const common of ['password', 'PASSWORD', '12345678']) {
        await refused(common, 'password_too_common');
      }
      for (const own of [username, username.toUpperCase(), email, email.split('@', 1)[0] ?? '']) {
        await refused(own, 'password_names_you');
      }
      // Eight code points that NFC composes to seven.
      await refused('passwoe\u0301', ['password_invalid', 'invalid_request']);
    },
  },
  {
    operation: 'register',
    sentence: 'several invalid values get one problem that points to each',
    rule: 'If several values are invalid, `errors` points to each, and `code` is `invalid_request`.',
    async run({ anonymous, word }) {
      const values = { username: 'a..b', password: 'password' };
      const expected = ['/password', '/username'];
      // The second address already breaks the schema.
      for (const [email, pointers] of [
        [`${word()}@example.com`, expected],
        [word(), ['/email', ...expected]],
      ] as const) {
        const body = { ...values, email };
        const { errors } = await anonymous.refused('register', body, 'invalid_request');
        equal(errors.map(({ pointer }) => pointer).sort(), pointers, 'The pointers of the errors');
      }
    },
  },
  {
    operation: 'register',
    sentence: 'a session lasts as long as the response says, and has its own token',
    rule: 'Seconds until the session ends if it is not used',
    async run({ user, anonymous }) {
      const { account } = await user();
      const { email, password } = account;
      const session = await anonymous.call('login', { email, password });
      // Long enough to notice a lifetime of so many milliseconds instead of seconds, if it is an hour.
      const isShort = session.expires_in <= MAX_IDLE_SECONDS;
      await sleep((isShort ? session.expires_in + 1 : MAX_IDLE_SECONDS) * 1_000);
      const owner = anonymous.withToken(session.access_token);
      if (isShort) await owner.refused('getProfile', {}, 'unauthenticated');
      else await owner.call('getProfile');
      equal(session.user_id, account.userId, 'user_id');
      require(session.access_token !== account.token, 'Two sessions have the same access token');
      require(session.access_token.length >= 20, 'The access token is short enough to be guessed');
    },
  },
  {
    operation: 'register',
    sentence: 'the longest email address is valid',
    rule: 'An ASCII email address that is valid in an HTML `<input type="email">`; at most 254 bytes.',
    async run({ anonymous, word }) {
      const domain = `${'d'.repeat(60)}.`.repeat(3);
      const start = `${word()}@${domain}`;
      const email = start.padEnd(254, 'd');
      const account = { username: word(), email, password: word() };
      const { access_token } = await anonymous.call('register', account);
      equal(
        (await anonymous.withToken(access_token).call('getProfile')).email,
        email,
        'Email address',
      );
      const longer = { ...account, username: word(), email: `${start}${word()}`.padEnd(255, 'd') };
      await anonymous.refused('register', longer, ['invalid_request', 'email_invalid']);
    },
  },
  {
    operation: 'login',
    sentence: 'a wrong password and an unknown address get the same response',
    rule: 'The response and its time are the same for an unknown email address and a wrong\npassword.',
    async run({ anonymous, user, word }) {
      const { email, password } = (await user()).account;
      const refused = (body: object) =>
        anonymous.refused('login', { ...body }, 'credentials_incorrect');
      const wrong = await refused({ email, password: WRONG_PASSWORD });
      const unknown = await refused({ email: `${word()}@example.com`, password: WRONG_PASSWORD });
      await refused({ email, password: password.toUpperCase() });
      await refused({ email, password: `${password} ` });
      await refused({ email, password: password.slice(0, -1) });
      equal({ ...wrong, request_id: '' }, { ...unknown, request_id: '' }, 'The problem');
    },
  },
  {
    operation: 'login',
    sentence: 'the email address is compared without case',
    rule: 'An ASCII email address that is valid in an HTML `<input type="email">`; at most 254 bytes.',
    async run({ anonymous, user }) {
      const { account } = await user();
      const { email, password, userId } = account;
      const session = await anonymous.call('login', { email: email.toUpperCase(), password });
      equal(session.user_id, userId, 'user_id');
    },
  },
  {
    operation: 'login',
    sentence: 'every account opens its own sessions, and several of them',
    rule: 'Starts a session.',
    async run({ newcomer, signIn }) {
      const [ada, grace] = [await newcomer(), await newcomer()];
      const sessions = [];
      for (let i = 0; i < 11; i += 1) sessions.push(await signIn(ada));
      for (const session of sessions) {
        equal((await session.call('getProfile')).user_id, ada.id, 'user_id');
      }
      equal((await ada.call('listSessions')).items.length, 12, 'Number of sessions');
      equal(
        (await grace.call('listSessions')).items.length,
        1,
        'Number of sessions of another account',
      );
    },
  },
  {
    operation: 'logout',
    sentence: 'ends the session of the caller and no other',
    rule: "Ends the caller's session, or all sessions of the account if `everywhere` is `true`.",
    async run({ newcomer, signIn }) {
      const user = await newcomer();
      const second = await signIn(user);
      await second.call('logout');
      await second.refused('getProfile', {}, 'unauthenticated');
      await second.refused('logout', {}, 'unauthenticated');
      await second.refused(
        'createSpace',
        { title: 'x', description: '', visibility: 'public', tags: [] },
        'unauthenticated',
      );
      equal((await user.call('listSessions')).items.length, 1, 'Number of sessions');
      const third = await signIn(user);
      await third.call('logout', { everywhere: false });
      await third.refused('getProfile', {}, 'unauthenticated');
      await user.call('getProfile');
    },
  },
  {
    operation: 'logout',
    sentence: 'everywhere ends all sessions of the account, and none of another one',
    rule: "Ends the caller's session, or all sessions of the account if `everywhere` is `true`.",
    async run({ newcomer, user, signIn }) {
      const [ada, grace] = [await newcomer(), await user()];
      const second = await signIn(ada);
      await second.call('logout', { everywhere: true });
      for (const session of [ada, second])
        await session.refused('getProfile', {}, 'unauthenticated');
      await grace.call('getProfile');
      await (await signIn(ada)).call('getProfile');
    },
  },
  {
    operation: 'listSessions',
    sentence: 'names the devices, and marks the current session',
    rule: 'Whether this is the session that sent the request',
    async run({ newcomer, anonymous }) {
      const user = await newcomer();
      const { email, password } = user.account;
      const { access_token } = await anonymous.call('login', {
        email,
        password,
        device_name: '  Ada’s phone\t',
      });
      const phone = user.withToken(access_token);
      const { items } = await phone.call('listSessions');
      equal(
        items.map(({ device_name, is_current }) => [device_name, is_current]),
        [
          ['Ada’s phone', true],
          [null, false],
        ],
        'device_name and is_current of both sessions',
      );
      const isCurrent = (await user.call('listSessions')).items.map((each) => each.is_current);
      equal(isCurrent, [false, true], 'is_current');
      for (const { session_id, created_at, last_used_at } of items) {
        require(session_id !== access_token, 'session_id is the access token');
        require(last_used_at >= created_at, 'last_used_at is before created_at');
      }
    },
  },
  {
    operation: 'endSession',
    sentence: 'ends one session of the caller, and never one of another account',
    rule: "Ends one of the caller's sessions, which can be the current one. Its access token stops working\nimmediately.",
    async run({ newcomer, user, signIn }) {
      const [ada, grace] = [await newcomer(), await user()];
      const [phone, tablet] = [await signIn(ada), await signIn(ada)];
      const sessionOf = async (user: typeof ada) => {
        const current = (await user.call('listSessions')).items.find((each) => each.is_current);
        require(current !== undefined, 'listSessions marks no session as the current one');
        return { session_id: current.session_id };
      };
      const ofPhone = await sessionOf(phone);
      await grace.refused('endSession', ofPhone, 'session_not_found');
      await phone.call('getProfile');
      await ada.call('endSession', ofPhone);
      await phone.refused('getProfile', {}, 'unauthenticated');
      await ada.refused('endSession', ofPhone, 'session_not_found');
      equal((await ada.call('listSessions')).items.length, 2, 'Number of sessions');
      await tablet.call('endSession', await sessionOf(tablet));
      await tablet.refused('getProfile', {}, 'unauthenticated');
      await ada.call('getProfile');
    },
  },
  {
    operation: 'login',
    sentence:
      'an invalid token is refused even where it is optional, and ignored where there is no caller',
    rule: 'An operation that uses the token rejects an invalid one with 401, even where the token is optional',
    async run({ user, signIn, word }) {
      const space = await createSpace(await user());
      const caller = await user();
      const ended = await signIn(caller);
      await ended.call('logout');
      const { space_id } = space;
      for (const invalid of [
        ended,
        caller.withToken(word()),
        caller.withToken(`${caller.account.token}x`),
      ]) {
        await invalid.refused('getSpace', { space_id }, 'unauthenticated');
        await invalid.refused('listMessages', { space_id }, 'unauthenticated');
        await invalid.call('searchSpaces', { q: word() });
      }
      // The name of the scheme has no case.
      const headers = { authorization: `bEARER ${caller.account.token}` };
      await caller.call('getProfile', {}, { headers });
      const { status, headers: received } = await caller.exchange(
        'getProfile',
        {},
        {
          headers: { authorization: 'Basic YTpi' },
        },
      );
      equal(status, 401, 'Status for another scheme');
      require(/^Bearer\b/.test(
        received.get('www-authenticate') ?? '',
      ), 'WWW-Authenticate is not Bearer');
    },
  },
  {
    operation: 'changePassword',
    sentence: 'the new password replaces the old one, and ends all other sessions',
    rule: "Changes the caller's password and ends all other sessions of the account. The session that sends\nthe request stays valid.",
    async run({ user: lend, signIn, anonymous, word }) {
      const user = await lend();
      const other = await signIn(user);
      const { email, password: currentPassword } = user.account;
      const newPassword = `${word()} ÄÖ`;
      await user.call('changePassword', { currentPassword, newPassword });
      await other.refused('getProfile', {}, 'unauthenticated');
      await user.call('getProfile');
      await anonymous.refused(
        'login',
        { email, password: currentPassword },
        'credentials_incorrect',
      );
      // Normalised to NFC before it is hashed.
      await anonymous.call('login', { email, password: newPassword.normalize('NFD') });
      user.account.password = newPassword;
    },
  },
  {
    operation: 'changePassword',
    sentence: 'a wrong current password changes nothing, and locks nothing',
    rule: 'Returns 403 if `currentPassword` is wrong. The account is not locked.',
    async run({ user: lend, signIn, anonymous, word }) {
      const user = await lend();
      const other = await signIn(user);
      const { email, password, username } = user.account;
      const newPassword = word();
      const change = { currentPassword: WRONG_PASSWORD, newPassword };
      await user.refused('changePassword', change, 'current_password_incorrect');
      await other.call('getProfile');
      await anonymous.refused('login', { email, password: newPassword }, 'credentials_incorrect');
      await anonymous.call('login', { email, password });
      const refused = (weak: string, code: string) =>
        user.refused('changePassword', { currentPassword: password, newPassword: weak }, code);
      await refused('password1', 'password_too_common');
      await refused(email, 'password_names_you');
      await refused(username, 'password_names_you');
      await anonymous.call('login', { email, password });
    },
  },
];
