import { accountNotFound } from '../command-line/account-not-found.ts';
import { readArguments } from '../command-line/arguments.ts';
import { removeDiscardedAvatarsNow } from '../command-line/avatar-removal.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';
import { removeAvatarOf } from '../profile/avatar.ts';

const { argument: account } = readArguments('remove-avatar');

await runProgram(async () => {
  const config = configFromEnvironment();
  await using engine = await openExistingDatabase(config);
  if (!(await removeAvatarOf(engine, account))) throw accountNotFound(account);
  await removeDiscardedAvatarsNow(engine, config);
  console.log(`The account ${account} has the default avatar.`);
});
