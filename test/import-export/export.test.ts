import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations, type Schema } from '../../server/contract.ts';
import { importRecords } from '../../server/import-export/import.ts';
import { type DataRecord, schemas } from '../../server/import-export/records.ts';
import { sampleRecords } from '../../server/sample/sample.ts';
import { isPostgresql } from '../support/databases.ts';
import { toLines } from '../support/ndjson.ts';
import { bodyExampleOf } from '../support/requests.ts';
import { tablesOf } from '../support/tables.ts';
import { type EmptyDatabases, exportLines, prepareDatabases } from './databases.ts';
import {
  ada,
  blocked,
  bob,
  bread,
  hello,
  joined,
  liked,
  PASSWORD_HASH,
  validRecords,
} from './records.ts';

let databases: EmptyDatabases;
beforeAll(async () => {
  databases = await prepareDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

describe('the sample data', () => {
  test('imports completely, and its export imports to an equal database', async () => {
    await using first = await databases.open();
    const records = [...sampleRecords(PASSWORD_HASH, new Date('2026-01-01T00:00:00Z'))];
    const report = await importRecords(first, toLines(records));
    expect(report.bad).toEqual([]);
    expect(report.added + report.unchanged).toBe(records.length);
    const count = (type: string) => records.filter((each) => each.type === type).length;
    expect(count('user')).toBe(30);
    expect(count('space')).toBeGreaterThanOrEqual(200);
    expect(count('message')).toBeGreaterThanOrEqual(2_000);
    expect(count('appreciation')).toBeGreaterThanOrEqual(1_000);

    const lines = await exportLines(first);
    // An export also has a record of each creator's participation.
    expect(lines).toHaveLength(report.added + count('space'));
    await using second = await databases.open();
    await importRecords(second, toLines(lines));
    expect(await exportLines(second)).toEqual(lines);
  });
});

// The tables of both kinds of database have the same columns, so those of SQLite are enough.
describe.skipIf(isPostgresql)('exportRecords', () => {
  /** Columns that an export omits, because the import derives or assigns their values. */
  const derivedColumns: Record<string, string[]> = {
    users: ['pk', 'username_key', 'username_skeleton', 'email_key', 'changed_in'],
    spaces: ['pk', 'participant_count', 'version', 'changed_in'],
    participations: ['changed_in', 'left_in'],
    messages: ['pk', 'word_count', 'changed_in'],
    appreciations: ['author_pk'],
    blocks: [],
  };
  /** Fields whose names differ from their columns. */
  const fieldNames: Record<string, string> = {
    'users.avatar': 'picture',
    'spaces.creator_pk': 'creator_id',
    'participations.space_pk': 'space_id',
    'participations.user_pk': 'user_id',
    'participations.removed_by_pk': 'removed_by',
    'messages.space_pk': 'space_id',
    'messages.author_pk': 'author_id',
    'messages.reply_to_pk': 'reply_to',
    'appreciations.message_pk': 'message_id',
    'appreciations.user_pk': 'user_id',
    'blocks.user_pk': 'user_id',
    'blocks.blocked_pk': 'blocked_id',
  };
  /** Tables with data of users that an export does not contain, with the reason. */
  const notExported: Record<string, string> = {
    sessions: 'Users sign in again.',
    reports: 'Only the operator of this server handles them.',
    mentions: 'The record of a message contains them.',
    tags: 'The record of a space contains its tags with their ids.',
    space_tags: 'The record of a space contains its tags with their ids.',
    idempotency_keys: 'Clients repeat requests within a day, at the same server.',
  };

  /** By field. The rules of the API accept them. */
  const textExamples: Record<string, unknown> = Object.assign({}, ...operations.map(bodyExampleOf));

  /** Adds the optional fields that a record lacks. */
  const complete = (record: Record<string, unknown>): object => {
    const missing = Object.entries(schemas[record.type as DataRecord['type']].properties).filter(
      ([name]) =>
        !['tag_ids', 'reply_to', 'mentions'].includes(name) && !Object.hasOwn(record, name),
    );
    const values = missing.map(([name, schema]) => [
      name,
      isText(schema) ? (textExamples[name] ?? exampleOf(schema)) : exampleOf(schema),
    ]);
    return { ...record, ...Object.fromEntries(values) };
  };

  const isText = ({ enum: values, format, type }: Schema) =>
    !values && !format && [type].flat().includes('string');

  const exampleOf = ({
    enum: values,
    type,
    format,
    minimum,
    minLength,
    items,
  }: Schema): unknown => {
    if (Array.isArray(values)) return values.at(-1);
    if (format === 'date-time') return '2026-01-01T00:00:00Z';
    if (type === 'boolean') return true;
    if (type === 'integer') return minimum ?? 1;
    if (type === 'array') return [exampleOf(items as Schema)];
    return 'x'.repeat(Number(minLength ?? 1));
  };

  test('exports every column that cannot be derived, including future ones', async () => {
    await using engine = await databases.open();
    const picture = `${'A'.repeat(22)}.webp`;
    await importRecords(
      engine,
      toLines([
        complete({
          ...ada,
          password_hash: PASSWORD_HASH,
          picture,
          suspended_at: '2026-01-01T00:00:00Z',
          has_old_username: false,
        }),
        bob,
        complete({ ...bread, visibility: 'private', invitation_code: 'a'.repeat(22) }),
        complete({
          ...joined,
          left_at: '2026-01-01T00:00:00Z',
          removed_at: '2026-01-02T00:00:00Z',
          removed_by: 'ada',
          is_moderator: false,
        }),
        complete(hello),
        complete(liked),
        complete(blocked),
      ]),
    );
    const fields: Record<string, Set<string>> = {};
    for (const line of await exportLines(engine)) {
      const { type, ...record } = JSON.parse(line);
      const table = type === 'participant' ? 'participations' : `${type}s`;
      fields[table] = new Set([...(fields[table] ?? []), ...Object.keys(record)]);
    }
    const tables = await engine.db.introspection.getTables();
    const stored = tablesOf('stored') as string[];
    const own = tables.filter(({ name }) => stored.includes(name));
    const names = own.map(({ name }) => name);
    expect(Object.keys(notExported).filter((name) => !names.includes(name))).toEqual([]);
    const kept = own.filter(({ name }) => !Object.hasOwn(notExported, name));
    expect(kept.map(({ name }) => name).sort()).toEqual(Object.keys(derivedColumns).sort());
    for (const { name: table, columns } of kept) {
      const expected = columns
        .map(({ name }) => name)
        .filter((name) => !derivedColumns[table]?.includes(name))
        .map((name) => fieldNames[`${table}.${name}`] ?? name);
      if (table === 'spaces') {
        expected.push('tags', 'tag_ids', 'creator_read_until', 'creator_is_muted');
      }
      if (table === 'messages') expected.push('is_reply', 'mentions');
      const exported = [...(fields[table] ?? [])].sort();
      expect(exported, `columns of ${table} in an export`).toEqual(expected.sort());
    }
  });
});

describe('An export', () => {
  test('can be imported if an older version has stored times outside of the years 0000 to 9999', async () => {
    await using first = await databases.open();
    await importRecords(first, toLines(validRecords));
    const late = '+010000-01-01T00:59:59.000Z';
    const early = '-000001-12-31T23:00:00.000Z';
    const { db } = first;
    await db
      .updateTable('users')
      .set({ created_at: early, updated_at: late, suspended_at: late })
      .execute();
    await db.updateTable('spaces').set({ created_at: late }).execute();
    await db.updateTable('participations').set({ joined_at: early, left_at: late }).execute();
    await db.updateTable('messages').set({ created_at: late }).execute();
    await db.updateTable('appreciations').set({ created_at: early }).execute();
    await db.updateTable('blocks').set({ created_at: late }).execute();

    const lines = await exportLines(first);
    const times = lines.join('').match(/[+-]?\d{4,}-\d\d-\d\dT[\d:.]+Z/g);
    expect(new Set(times)).toEqual(
      new Set(['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']),
    );
    await using second = await databases.open();
    // The creator's record is rejected, because the update above also set its `left_at`.
    const report = await importRecords(second, toLines(lines), { skipBad: true });
    expect(report.bad.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('cannot leave'),
    ]);
  });
});
