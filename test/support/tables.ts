import type Sqlite from 'better-sqlite3';
import type { Schema } from '../../server/database/schema.ts';

/**
 * What a table contains:
 * - `stored`: data of users. Only requests and the operator change it.
 * - `index`: data derived from stored tables. A rebuild restores it.
 * - `internal`: bookkeeping of the service.
 */
type TableKind = 'stored' | 'index' | 'internal';

/** A table is listed after the tables that it refers to. */
const tableKinds: Readonly<Record<keyof Schema, TableKind>> = {
  users: 'stored',
  sessions: 'stored',
  spaces: 'stored',
  participations: 'stored',
  tags: 'stored',
  space_tags: 'stored',
  messages: 'stored',
  appreciations: 'stored',
  mentions: 'stored',
  blocks: 'stored',
  reports: 'stored',
  idempotency_keys: 'stored',
  public_spaces: 'index',
  tag_hits: 'index',
  tag_counts: 'index',
  tag_prefixes: 'index',
  dictionary: 'index',
  search_index: 'internal',
  spaces_to_index: 'internal',
  search_revision: 'internal',
  discarded_avatars: 'internal',
  pending_purges: 'internal',
  erased_users: 'internal',
  erased_spaces: 'internal',
  spaces_to_move: 'internal',
  action_counts: 'internal',
  secrets: 'internal',
  message_changes: 'internal',
  message_words: 'internal',
  indexed_messages: 'internal',
  message_index: 'internal',
  mails: 'internal',
  mail_tokens: 'internal',
  ended_participations: 'internal',
  last_transaction: 'internal',
};

export function tablesOf(kind: TableKind): (keyof Schema)[] {
  const tables = Object.keys(tableKinds) as (keyof Schema)[];
  return tables.filter((table) => tableKinds[table] === kind);
}

export interface Column {
  name: string;
  type: string;
  /** Whether it is an internal key: the table's own or a foreign key. */
  isKey: boolean;
}

export function columnsOf(sqlite: Sqlite.Database, table: string): Column[] {
  const keys = foreignKeysOf(sqlite, table).map(({ column }) => column);
  const primaryKey = primaryKeyOf(sqlite, table);
  return tableInfo(sqlite, table).map(({ name, type }) => ({
    name,
    type,
    isKey: name === primaryKey || keys.includes(name),
  }));
}

/** Returns the column with the internal key; undefined if the table has none. */
export function primaryKeyOf(sqlite: Sqlite.Database, table: string): string | undefined {
  const [first, ...others] = tableInfo(sqlite, table).filter(({ pk }) => pk > 0);
  return others.length === 0 && first?.type === 'INTEGER' ? first.name : undefined;
}

function tableInfo(sqlite: Sqlite.Database, table: string) {
  return sqlite.pragma(`table_info(${table})`) as { name: string; type: string; pk: number }[];
}

export interface ForeignKey {
  column: string;
  parent: string;
  /** Whether deleting the parent deletes the row. */
  cascades: boolean;
}

export function foreignKeysOf(sqlite: Sqlite.Database, table: string): ForeignKey[] {
  const keys = sqlite.pragma(`foreign_key_list(${table})`) as {
    from: string;
    table: string;
    on_delete: string;
  }[];
  return keys.map(({ from, table: parent, on_delete }) => ({
    column: from,
    parent,
    cascades: on_delete === 'CASCADE',
  }));
}
