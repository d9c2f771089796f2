import type { Caller } from './caller.ts';
import { equal } from './expectations.ts';
import type { Scenario } from './scenario.ts';

/** Whether the server sends mail. Then this check cannot read it, because it is sent to `example.com`. */
async function sendsMail(caller: Caller): Promise<boolean> {
  return (await caller.call('getServer')).sends_mail;
}

export const mail: Scenario[] = [
  {
    operation: 'requestPasswordReset',
    sentence: 'a known and an unknown address get the same response',
    rule: 'The response and its time are the same for an unknown\naddress.',
    async run({ anonymous, user, word }) {
      const { account } = await user();
      const unknown = { email: `${word()}@example.com` };
      if (!(await sendsMail(anonymous))) {
        await anonymous.refused('requestPasswordReset', unknown, 'mail_disabled');
        return;
      }
      const known = await anonymous.exchange('requestPasswordReset', { email: account.email });
      const { status, body } = await anonymous.exchange('requestPasswordReset', unknown);
      equal([status, body], [known.status, known.body], 'The response to an unknown address');
    },
  },
  {
    operation: 'resetPassword',
    sentence: 'an unknown token changes nothing',
    rule: 'Unknown, used and expired tokens get the same error, `invalid_token`.',
    async run({ anonymous, user, signIn, word }) {
      const ada = await user();
      for (const token of [word(), ada.account.token]) {
        const inputs = { token, newPassword: word() };
        await anonymous.refused('resetPassword', inputs, 'invalid_token');
      }
      await signIn(ada);
    },
  },
  {
    operation: 'verifyEmail',
    sentence: 'an unknown token verifies nothing',
    rule: 'Unknown and expired tokens get `invalid_token`.',
    async run({ anonymous, newcomer, word }) {
      const ada = await newcomer();
      for (const token of [word(), ada.account.token]) {
        await anonymous.refused('verifyEmail', { token }, 'invalid_token');
      }
      equal((await ada.call('getProfile')).is_verified, false, 'is_verified');
    },
  },
  {
    operation: 'requestEmailVerification',
    sentence: 'does not verify the address by itself',
    rule: "Sends a link to the caller's email address.",
    async run({ newcomer }) {
      const ada = await newcomer();
      if (await sendsMail(ada)) await ada.call('requestEmailVerification');
      else await ada.refused('requestEmailVerification', {}, 'mail_disabled');
      equal((await ada.call('getProfile')).is_verified, false, 'is_verified');
    },
  },
  {
    operation: 'changeEmail',
    sentence: 'needs the password and a free address, and changes nothing until the link is used',
    rule: 'The address changes when the link is used, with\n`verifyEmail`. Until then, nothing changes.',
    async run({ newcomer, user, signIn, word }) {
      const [ada, other] = [await newcomer(), await user()];
      const { email, password } = ada.account;
      const change = { email: `${word()}@example.com`, currentPassword: password };
      if (await sendsMail(ada)) {
        const wrong = { ...change, currentPassword: word() };
        await ada.refused('changeEmail', wrong, 'current_password_incorrect');
        const taken = { ...change, email: other.account.email.toUpperCase() };
        await ada.refused('changeEmail', taken, 'email_taken');
        await ada.call('changeEmail', change);
      } else {
        await ada.refused('changeEmail', change, 'mail_disabled');
      }
      equal((await ada.call('getProfile')).email, email, 'The email address');
      await signIn(ada);
    },
  },
];
