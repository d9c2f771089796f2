import { findOldUsernames } from '../accounts/old-usernames.ts';
import { onDatabase } from '../command-line/on-database.ts';

export const checkUsernames = onDatabase(async (engine, _, { console }) => {
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
