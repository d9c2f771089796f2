import { databaseFile, withDatabase } from '../../../support/integrity.ts';
import { columnsOf, foreignKeysOf, primaryKeyOf, tablesOf } from '../../../support/tables.ts';
import { BYSTANDER } from './bystander.ts';

/** Returns whether the index of messages has a word. */
export function hasIndexedWord(dataDir: string, word: string): boolean {
  return withDatabase(
    databaseFile(dataDir),
    (sqlite) =>
      sqlite.prepare('SELECT 1 FROM message_words WHERE word = ? LIMIT 1').get(word) !== undefined,
  );
}

/**
 * Reads the stored rows of each table, except those that must be deleted with a user according to the foreign keys.
 * Search indexes are not read, because another check compares them with a rebuild.
 * @param userId the user who is deleted; empty if no user is
 */
export function readOtherRows(dataDir: string, userId = ''): Map<string, string[]> {
  return withDatabase(databaseFile(dataDir), (sqlite) => {
    const gone = sqlite.prepare('SELECT pk FROM users WHERE user_id = ?').pluck().get(userId) ?? 0;
    const deletedCondition = (table: string): string => {
      if (table === 'users') return `pk = ${gone}`;
      // A tag is deleted with its last space.
      if (table === 'tags') {
        return `tag_id NOT IN (SELECT tag_id FROM space_tags WHERE ${keptCondition('space_tags')})`;
      }
      const parents = foreignKeysOf(sqlite, table).filter(({ cascades }) => cascades);
      const conditions = parents.map(
        ({ column, parent }) =>
          `${column} IN (SELECT ${primaryKeyOf(sqlite, parent)} FROM ${parent} WHERE ${deletedCondition(parent)})`,
      );
      return conditions.join(' OR ') || 'FALSE';
    };
    // `IS NOT TRUE` instead of `NOT`, because a report has a null in one of its foreign keys.
    const keptCondition = (table: string) => `(${deletedCondition(table)}) IS NOT TRUE`;
    const counted = `participant_count - EXISTS (SELECT 1 FROM participations
      WHERE space_pk = spaces.pk AND user_pk = ${gone} AND left_at IS NULL)`;
    // Followers of lists learn of another number of participants.
    const omitted = ['spaces.changed_in'];
    // This user continues to write. The messages are counted separately.
    const written = `author_pk IN (SELECT pk FROM users WHERE username = '${BYSTANDER}')`;

    const entries = [...tablesOf('stored'), 'discarded_avatars'].map(
      (table): [string, string[]] => {
        const columns = columnsOf(sqlite, table)
          .filter(({ name }) => !omitted.includes(`${table}.${name}`))
          .map(({ name }) => (name === 'participant_count' ? counted : name));
        const others = table === 'messages' ? `AND NOT ${written}` : '';
        const rows = sqlite
          .prepare(`SELECT ${columns} FROM ${table} WHERE ${keptCondition(table)} ${others}`)
          .raw()
          .all();
        return [table, rows.map((row) => JSON.stringify(row)).sort()];
      },
    );
    return new Map(entries);
  });
}

/** Returns the stored words of the dictionary; undefined if it is older than the last change. */
export function readTrie(dataDir: string): Buffer | undefined {
  return withDatabase(databaseFile(dataDir), (sqlite) => {
    const current = `SELECT trie FROM dictionary, search_revision
      WHERE built_revision >= search_revision.value`;
    return sqlite.prepare(current).pluck().get() as Buffer | undefined;
  });
}

export function countMessages(dataDir: string, username: string): number {
  return withDatabase(databaseFile(dataDir), (sqlite) => {
    return sqlite
      .prepare(
        'SELECT count(*) FROM messages JOIN users ON users.pk = author_pk WHERE username = ?',
      )
      .pluck()
      .get(username) as number;
  });
}

export function isPurged(dataDir: string): boolean {
  return withDatabase(databaseFile(dataDir), (sqlite) => {
    return (
      sqlite.prepare('SELECT count(*) FROM pending_purges WHERE due_at IS NULL').pluck().get() === 0
    );
  });
}
