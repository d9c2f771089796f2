import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { openExistingDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';
import { removeAvatarOf } from '../profile/avatar.ts';
import { accountNotFound } from './account-not-found.ts';
import { removeDiscardedAvatarsNow } from './discarded-avatars.ts';

const { argument: account } = readArguments('remove-avatar');

await runProgram(async () => {
  const config = configFromEnvironment();
  await using engine = await openExistingDatabase(config);
  if (!(await removeAvatarOf(engine, account))) throw accountNotFound(account);
  await removeDiscardedAvatarsNow(engine, config);
  console.log(`The account ${account} has the default avatar.`);
});
