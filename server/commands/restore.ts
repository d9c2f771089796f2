import { existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { eraseAccounts } from '../account-lifecycle/deletion.ts';
import { openAvatarStore } from '../avatars/open.ts';
import { timeOf } from '../backups/backup-names.ts';
import { listBackups, restoreAvatars, useBackup } from '../backups/restore.ts';
import { describeTarget, withConfig } from '../command-line/on-database.ts';
import type { Config } from '../config.ts';
import { erasureJournal, readErasures } from '../database/erasure-journal.ts';
import { databaseKind, openDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { quantity } from '../text/quantity.ts';

export const restore = withConfig(async (config, { argument: backup, flags }, { console }) => {
  if (flags.includes('deletions-only')) {
    if (backup !== '') throw new OperatorError('With --deletions-only, name no backup.');
    console.log(`${quantity(await repeatDeletions(config), 'account')} deleted again.`);
    console.error(describeTarget(config));
    return;
  }
  if (backup === '') {
    for (const name of await listBackups(config)) console.log(name);
    return;
  }
  const isScheduled = timeOf(backup) !== undefined && !existsSync(backup);
  const { erased, replaced, avatars } = await (isScheduled
    ? restoreScheduled(config, backup)
    : restoreFile(config, backup));
  console.log(`${backup} has been restored.`);
  console.log(
    `Accounts that were deleted since then: ${quantity(erased, 'account')} deleted again.`,
  );
  console.log(avatars);
  if (replaced !== undefined) {
    console.log(`The replaced database is in ${replaced}. Delete it when you no longer need it.`);
  }
  console.error(describeTarget(config));
});

/** Returns the number of deleted accounts. */
async function repeatDeletions(config: Config): Promise<number> {
  const journal = erasureJournal(config);
  // Otherwise, a wrong DATA_DIR would look like a journal without deletions.
  if (!existsSync(journal)) throw new OperatorError(`${journal} does not exist.`);
  await using engine = await openDatabase(config, { purpose: 'command' });
  return await eraseAccounts(engine, await readErasures(journal));
}

async function restoreScheduled(config: Config, name: string) {
  let restored: Awaited<ReturnType<typeof restoreDatabase>> | undefined;
  const store = await useBackup(config, name, async (file) => {
    restored = await restoreDatabase(config, file);
  });
  await using engine = await openDatabase(config, { purpose: 'command' });
  const avatars = await openAvatarStore(config, engine, (error) => {
    throw error;
  });
  const count = await restoreAvatars(store, name, engine, avatars);
  return {
    ...(restored as NonNullable<typeof restored>),
    avatars: `${quantity(count, 'avatar')} copied, too.`,
  };
}

async function restoreFile(config: Config, file: string) {
  const restored = await restoreDatabase(config, file);
  const avatars = join(dirname(file), 'avatars');
  const hasAvatars = config.avatarBucket === null && existsSync(avatars);
  if (hasAvatars) await cp(avatars, join(config.dataDir, 'avatars'), { recursive: true });
  return {
    ...restored,
    avatars: hasAvatars
      ? `The avatars in ${avatars} have been copied, too.`
      : 'Restore the avatars, too.',
  };
}

async function restoreDatabase(config: Config, file: string) {
  const kind = await databaseKind(config);
  let erased = 0;
  const replaced = await kind.restore(config, file, async (engine, hashes) => {
    erased = await eraseAccounts(engine, hashes);
  });
  return { erased, replaced };
}
