import { deleteSuspendedAccount } from '../account-lifecycle/deletion.ts';
import { setEmail } from '../account-lifecycle/email-change.ts';
import { restoreAccount, suspendAccount } from '../account-lifecycle/suspension.ts';
import { verifyAccount } from '../account-lifecycle/verification.ts';
import { endSessionsOf } from '../auth/sessions.ts';
import { removeDiscardedAvatarsNow } from '../command-line/avatar-removal.ts';
import type { Command } from '../command-line/command.ts';
import { commandLine } from '../command-line/help.ts';
import { onDatabase, onItem } from '../command-line/on-database.ts';
import type { Engine } from '../database/engine.ts';
import { OperatorError } from '../errors.ts';
import { removeAvatarOf } from '../profile/avatar.ts';

/** @param account the email address or user id that no account has */
export function missingAccount(account: string): string {
  return `There is no account with the email address or user id ${account}.`;
}

function onAccount(
  change: (engine: Engine, account: string) => Promise<boolean>,
  done: (account: string) => string,
): Command {
  return onItem(change, missingAccount, done);
}

export const endSessions = onDatabase(
  async (engine, { positionals: [account = '', ...sessionIds], flags }, { console }) => {
    if (sessionIds.length > 0 && flags.includes('tokens')) {
      throw new OperatorError('--tokens revokes all access tokens. Leave it out, or the ids.');
    }
    const ended = await endSessionsOf(engine, account, sessionIds, flags.includes('tokens'));
    if (ended === undefined) throw new OperatorError(missingAccount(account));
    const json = JSON.stringify({ ended_sessions: ended });
    console.log(flags.includes('json') ? json : `Sessions ended: ${ended}.`);
  },
);

export const verify = onAccount(verifyAccount, (account) => `The account ${account} is verified.`);

export const changeEmail = onDatabase(
  async (engine, { positionals: [account = '', newEmail = ''] }, { console }, config) => {
    if (!(await setEmail({ engine, config }, account, newEmail))) {
      throw new OperatorError(missingAccount(account));
    }
    console.log(`The account has the email address ${newEmail}, which is not verified.`);
  },
);

export const suspend = onAccount(
  suspendAccount,
  (account) =>
    `The account ${account} is suspended. Its sessions have ended, and its profile and spaces are hidden.`,
);

export const restore = onAccount(
  restoreAccount,
  (account) => `The account ${account} is no longer suspended. Its profile and spaces are visible.`,
);

export const removeAvatar = onDatabase(
  async (engine, { argument: account }, { console }, config) => {
    if (!(await removeAvatarOf(engine, account))) throw new OperatorError(missingAccount(account));
    await removeDiscardedAvatarsNow(engine, config);
    console.log(`The account ${account} has the default avatar.`);
  },
);

export const deleteAccount = onDatabase(
  async (engine, { argument: account }, { console }, config) => {
    const outcome = await deleteSuspendedAccount(engine, account);
    if (outcome === 'unknown') throw new OperatorError(missingAccount(account));
    if (outcome === 'not suspended') {
      throw new OperatorError(
        `The account ${account} is not suspended. Suspend it first with: ${commandLine('suspend-account', account)}`,
      );
    }
    await removeDiscardedAvatarsNow(engine, config);
    console.log(`The account ${account} and everything in it have been deleted.`);
  },
);
