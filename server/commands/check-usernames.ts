import { findOldUsernames } from '../accounts/old-usernames.ts';
import { readArguments } from '../command-line/arguments.ts';
import { runOnDatabase } from '../process/run-on-database.ts';

readArguments('check-usernames');

await runOnDatabase(async (engine) => {
  let count = 0;
  for await (const { userId, username, reason } of findOldUsernames(engine.db)) {
    count += 1;
    console.log(`${userId} ${JSON.stringify(username)}: ${reason}`);
  }
  console.log(
    count === 0
      ? 'All usernames follow the current rules.'
      : `Usernames from before the current rules: ${count}. They stay valid.`,
  );
});
