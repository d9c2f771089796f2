// The database of a backup has the name `2026-11-22T00-00-00Z.db`, and the list of its avatars ends with `.avatars`.
// The list is written first, so a backup with a database is complete.

const NAME = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z$/;

export const databaseOf = (backup: string) => `${backup}.db`;
export const avatarListOf = (backup: string) => `${backup}.avatars`;

/** Returns the name of the backup that begins now. */
export function newBackupName(now: Date): string {
  return `${now.toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
}

/** Returns the time of a backup; undefined if no backup has this name. */
export function timeOf(backup: string): Date | undefined {
  const [, date, hours, minutes, seconds] = NAME.exec(backup) ?? [];
  const time = new Date(`${date}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** Returns the name of the backup to which a file belongs. It may be incomplete. */
export function backupOf(file: string): string | undefined {
  const [name = ''] = file.split('.');
  return timeOf(name) && name;
}

/** Returns the names of the complete backups, the newest first. */
export function completeBackups(files: readonly string[]): string[] {
  return files
    .map((file) => file.replace(/\.db$/, ''))
    .filter((backup, index) => timeOf(backup) && files[index] === databaseOf(backup))
    .sort()
    .reverse();
}
