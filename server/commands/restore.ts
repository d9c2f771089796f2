import { existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { eraseAccounts } from '../account-lifecycle/deletion.ts';
import { describeTarget, withConfig } from '../command-line/on-database.ts';
import { databaseKind } from '../database/open.ts';
import { quantity } from '../text/quantity.ts';

export const restore = withConfig(async (config, { argument: backup }, { console }) => {
  const kind = await databaseKind(config);
  let erased = 0;
  const replaced = await kind.restore(config, backup, async (engine, hashes) => {
    erased = await eraseAccounts(engine, hashes);
  });
  const avatars = join(dirname(backup), 'avatars');
  const hasAvatars = config.avatarBucket === null && existsSync(avatars);
  if (hasAvatars) await cp(avatars, join(config.dataDir, 'avatars'), { recursive: true });
  console.log(`${backup} has been restored.`);
  console.log(
    `Accounts that were deleted since then: ${quantity(erased, 'account')} deleted again.`,
  );
  console.log(
    hasAvatars ? `The avatars in ${avatars} have been copied, too.` : 'Restore the avatars, too.',
  );
  if (replaced !== undefined) {
    console.log(`The replaced database is in ${replaced}. Delete it when you no longer need it.`);
  }
  console.error(describeTarget(config));
});
