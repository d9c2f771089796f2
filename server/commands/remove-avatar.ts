import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { removeDiscardedAvatarsNow } from '../command-line/avatar-removal.ts';
import { runOnDatabase } from '../process/run-on-database.ts';
import { removeAvatarOf } from '../profile/avatar.ts';

const { argument: account } = readArguments('remove-avatar');

await runOnDatabase(async (engine, config) => {
  if (!(await removeAvatarOf(engine, account))) throw accountNotFound(account);
  await removeDiscardedAvatarsNow(engine, config);
  console.log(`The account ${account} has the default avatar.`);
});
