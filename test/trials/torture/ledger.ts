import assert from 'node:assert/strict';
import type { Database } from '../../../server/database/engine.ts';
import {
  isLiveMessage,
  isLiveReport,
  isLiveSpace,
  isLiveUser,
} from '../../../server/database/erased-rows.ts';
import type { Schema } from '../../../server/database/schema.ts';
import { readSnapshot } from '../../../server/database/transaction.ts';

/**
 * The content of the database, by key. A key consists of a kind and a mark. The stored texts contain the marks, so that
 * a row is recognized even if the response with its id was lost:
 *
 *     user u1            exists             space u1.s2                    its texts and tags
 *     username u1        the name           participation u1.s2>u3         joined, left or removed
 *     bio u1             the text           message u1.s2>u3.m4            the text
 *     avatar u1          the file           appreciation u1.s2>u3.m4>u5    exists
 *     report u1.s2>u5    the reason         report u1.s2>u3.m4>u5          the reason
 *     report u1>u5       the reason         block u1>u5                    exists
 *     mention u1.s2>u3.m4>u5    exists      reply u1.s2>u3.m4>u5.m6        exists
 *     read u1.s2>u3      the read position  muted u1.s2>u3                 yes
 *
 * Users have one such fact for each column that is neither empty nor in `notInFacts`, under its name. The fact of a
 * space contains all of these columns.
 */
export type Facts = Map<string, string>;

/** Any value, because only the response contains it. */
export const ANY = '?';

/**
 * New values by key. Undefined deletes a fact; if it is a user, space or message, also all facts whose keys contain its
 * mark.
 */
export type Changes = Record<string, string | undefined>;

/** The consecutive writes of one writer. */
export interface Journal {
  /** Records a write before it is sent. */
  begin(changes: Changes): void;
  /** Records that the write succeeded, with changes known only from the response. */
  acknowledge(fromResponse?: Changes): void;
  /** Records that the write was rejected. */
  reject(): void;
}

/** Records all writes and which of them were acknowledged. */
export interface Ledger {
  journal(): Journal;
  /** Returns whether the fact exists after all acknowledged writes. */
  exists(key: string): boolean;
  value(key: string): string | undefined;
  /** Number of acknowledged writes of each journal. */
  position(): number[];
  /**
   * Checks that the database contains a prefix of the writes of each journal, with at least the first `since` writes
   * and without partial writes.
   * @param contains whether the database can contain a fact at all, by its key
   * @throws AssertionError
   */
  check(actual: Facts, since?: readonly number[], contains?: (key: string) => boolean): void;
  /** Replaces the expected facts with the actual ones and clears the journals. */
  settle(actual: Facts): void;
}

export function openLedger(): Ledger {
  const journals: { writes: Changes[]; pending: Changes | undefined }[] = [];
  let base: Facts = new Map();
  let facts: Facts = new Map();

  const position = () => journals.map(({ writes }) => writes.length);
  return {
    position,
    exists: (key) => exists(key, facts),
    value: (key) => facts.get(key),

    journal() {
      const own: (typeof journals)[number] = { writes: [], pending: undefined };
      journals.push(own);
      return {
        begin(changes) {
          assert.equal(
            own.pending,
            undefined,
            'the previous write of the journal is still pending',
          );
          own.pending = changes;
        },
        acknowledge(fromResponse = {}) {
          const changes = { ...own.pending, ...fromResponse };
          own.writes.push(changes);
          own.pending = undefined;
          apply(changes, facts);
        },
        reject() {
          own.pending = undefined;
        },
      };
    },

    check(actual, since = position(), contains = () => true) {
      const differences: string[] = [];
      const writtenKeys = new Set<string>();
      for (const [i, { writes, pending }] of journals.entries()) {
        const all = pending ? [...writes, pending] : writes;
        const keys = new Set(all.flatMap((changes) => Object.keys(changes)).filter(contains));
        for (const key of keys) writtenKeys.add(key);
        const faults = prefixDifferences(all, since[i] ?? 0, keys, base, actual);
        differences.push(...faults.map((fault) => `writer ${i}: ${fault}`));
      }
      const others = [...base.keys(), ...actual.keys()].filter(
        (key) => contains(key) && !writtenKeys.has(key),
      );
      differences.push(...differencesOf(new Set(others), base, actual));
      if (differences.length > 0) {
        const shown = differences.slice(0, 10).join('\n');
        throw new assert.AssertionError({
          message: `${differences.length} facts are wrong:\n${shown}`,
        });
      }
    },

    settle(actual) {
      base = new Map(actual);
      facts = new Map(actual);
      for (const own of journals) Object.assign(own, { writes: [], pending: undefined });
    },
  };
}

/**
 * Compares facts with those after the first `minWrites` writes, and if they differ, with those after each later write.
 * @returns nothing if they equal any of these; otherwise the differences after the first `minWrites` writes
 */
function prefixDifferences(
  writes: readonly Changes[],
  minWrites: number,
  keys: ReadonlySet<string>,
  base: Facts,
  actual: Facts,
): string[] {
  const state: Facts = new Map();
  for (const key of keys) {
    const value = base.get(key);
    if (value !== undefined) state.set(key, value);
  }
  for (const changes of writes.slice(0, minWrites)) apply(changes, state);
  const differences = differencesOf(keys, state, actual);
  let current = differences;
  for (const changes of writes.slice(minWrites)) {
    if (current.length === 0) break;
    apply(changes, state);
    current = differencesOf(keys, state, actual);
  }
  return current.length === 0 ? [] : differences;
}

function apply(changes: Changes, facts: Facts): void {
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) facts.delete(key);
    else facts.set(key, value);
  }
}

function differencesOf(keys: ReadonlySet<string>, expected: Facts, actual: Facts): string[] {
  const faults: string[] = [];
  for (const key of keys) {
    const expectedValue = parentsOf(key).every((parent) => actual.has(parent))
      ? expected.get(key)
      : undefined;
    const value = actual.get(key);
    if (value === expectedValue || (expectedValue === ANY && value !== undefined)) continue;
    faults.push(`${key}: ${value ?? 'missing'}, not ${expectedValue ?? 'missing'}`);
  }
  return faults;
}

function exists(key: string, facts: Facts): boolean {
  return facts.has(key) && parentsOf(key).every((parent) => facts.has(parent));
}

/** The facts whose deletion deletes this one. */
function parentsOf(key: string): string[] {
  const [kind = '', mark = ''] = key.split(' ');
  const parents: string[] = [];
  const parts = mark.split('>');
  for (const part of parts) {
    parents.push(`user ${part.split('.')[0]}`);
    if (part.includes('.s')) parents.push(`space ${part}`);
    if (part.includes('.m')) parents.push(`message ${parts[0]}>${part}`);
  }
  return parents.filter((parent) => parent !== `${kind} ${mark}`);
}

/** Columns that the facts do not contain, by reason. Internal keys are omitted here. */
export const notInFacts: Readonly<Record<string, readonly string[]>> = {
  'Generated by the server.': [
    'spaces.version',
    'users.changed_in',
    'spaces.changed_in',
    'participations.changed_in',
    'participations.left_in',
    'messages.changed_in',
    'spaces.invitation_code',
    'sessions.session_id',
    'blocks.created_at',
    'reports.report_id',
    'reports.created_at',
    'users.created_at',
    'users.updated_at',
    'sessions.created_at',
    'sessions.last_used_at',
    'spaces.created_at',
    'messages.created_at',
    'messages.edited_at',
    'appreciations.created_at',
  ],
  'Derived from a compared text.': [
    'users.username_key',
    'users.username_skeleton',
    'users.email_key',
    'tags.tag_key',
    'messages.word_count',
  ],
  'Not changed by the traffic.': [
    'users.password_hash',
    'users.is_verified',
    'users.suspended_at',
    'sessions.token_hash',
    'sessions.device_name',
    'sessions.token_name',
    'sessions.scopes',
    'sessions.expires_at',
  ],
  'Checked by the trial of repetitions, which sends keys.': [
    'idempotency_keys.key_hash',
    'idempotency_keys.request_hash',
    'idempotency_keys.created_id',
    'idempotency_keys.created_at',
  ],
  'Read by a join, as the text of the original.': ['messages.reply_to_pk'],
  'Equal to columns of the message.': ['mentions.space_pk', 'mentions.created_at'],
  'Compared with the number of rows by assertCounted.': ['spaces.participant_count'],
  'Determines the order of the tags in the fact of the space.': ['space_tags.position'],
};

/** Reads all facts from a database, and the public ids of users, spaces and messages by key. */
export async function readFacts(db: Database): Promise<{ facts: Facts; ids: Map<string, string> }> {
  // Other processes may write meanwhile.
  const rows = await readSnapshot(db, readRows);
  const facts: Facts = new Map();
  const ids = new Map<string, string>();
  const addFact = (key: string, value: string) => {
    assert(!facts.has(key), `${key} exists twice`);
    facts.set(key, value);
  };
  const userMark = (email: string) => email.split('@')[0];
  // Texts start with their mark and a space.
  const textMark = (text: string | null) => text?.split(' ')[0];

  for (const { email, user_id, ...fields } of rows.users) {
    const mark = userMark(email);
    addFact(`user ${mark}`, 'exists');
    for (const [name, value] of Object.entries(fields)) {
      if (value) addFact(`${name} ${mark}`, String(value));
    }
    ids.set(`user ${mark}`, user_id);
  }
  const tags = Map.groupBy(rows.tags, ({ space_pk }) => space_pk);
  for (const { pk, space_id, email, ...space } of rows.spaces) {
    const mark = textMark(space.description);
    assert.equal(mark?.split('.')[0], userMark(email), `the creator of ${mark}`);
    const names = (tags.get(pk) ?? []).map(({ tag_name }) => tag_name);
    addFact(`space ${mark}`, spaceValue({ ...space, tags: names }));
    ids.set(`space ${mark}`, space_id);
  }
  for (const {
    description,
    email,
    joined_at,
    left_at,
    removed_at,
    read_until,
    is_moderator,
    is_muted,
  } of rows.participations) {
    const mark = `${textMark(description)}>${userMark(email)}`;
    const current = is_moderator ? 'moderates' : 'joined';
    addFact(`participation ${mark}`, removed_at ? 'removed' : left_at ? 'left' : current);
    addFact(`read ${mark}`, read_until ?? joined_at);
    if (is_muted) addFact(`muted ${mark}`, 'yes');
  }
  for (const { message_id, text, original, description, email } of rows.messages) {
    const prefix = `${textMark(description)}>${userMark(email)}.`;
    assert(text.startsWith(prefix), `the message ${text} is in another space or of another author`);
    addFact(`message ${textMark(text)}`, text);
    ids.set(`message ${textMark(text)}`, message_id);
    if (original) addFact(`reply ${textMark(original)}>${textMark(text)?.split('>')[1]}`, 'exists');
  }
  for (const { text, email } of rows.mentions) {
    addFact(`mention ${textMark(text)}>${userMark(email)}`, 'exists');
  }
  for (const { text, email } of rows.appreciations) {
    addFact(`appreciation ${textMark(text)}>${userMark(email)}`, 'exists');
  }
  for (const { email, address } of rows.blocks) {
    addFact(`block ${userMark(email)}>${userMark(address)}`, 'exists');
  }
  for (const { text, description, address, email, reason } of rows.reports) {
    const target = address === null ? textMark(text ?? description) : userMark(address);
    addFact(`report ${target}>${userMark(email)}`, reason);
  }
  return { facts, ids };
}

/** Reads the rows, except those of deleted accounts and spaces that maintenance has not deleted yet. */
async function readRows(db: Database) {
  return {
    users: await db
      .selectFrom('users')
      .select(await comparedColumns(db, 'users'))
      .where(isLiveUser('pk'))
      .execute(),
    tags: await db
      .selectFrom('space_tags')
      .select(['space_pk', 'tag_name'])
      .orderBy('space_pk')
      .orderBy('position')
      .execute(),
    spaces: await db
      .selectFrom('spaces')
      .innerJoin('users', 'users.pk', 'creator_pk')
      .select(['spaces.pk', 'email'])
      .select((await comparedColumns(db, 'spaces')).map((name) => `spaces.${name}` as const))
      .where(isLiveSpace('spaces.pk'))
      .execute(),
    participations: await db
      .selectFrom('participations')
      .innerJoin('spaces', 'spaces.pk', 'space_pk')
      .innerJoin('users', 'users.pk', 'user_pk')
      .select(['description', 'email', 'joined_at', 'left_at', 'removed_at', 'read_until'])
      .select(['is_moderator', 'is_muted'])
      .where(isLiveSpace('spaces.pk'))
      .execute(),
    messages: await db
      .selectFrom('messages')
      .innerJoin('spaces', 'spaces.pk', 'messages.space_pk')
      .innerJoin('users', 'users.pk', 'messages.author_pk')
      .leftJoin('messages as originals', (join) =>
        join
          .onRef('originals.pk', '=', 'messages.reply_to_pk')
          .on(isLiveUser('originals.author_pk')),
      )
      .select(['messages.message_id', 'messages.text', 'originals.text as original'])
      .select(['description', 'email'])
      .where(isLiveMessage)
      .execute(),
    mentions: await db
      .selectFrom('mentions')
      .innerJoin('messages', 'messages.pk', 'message_pk')
      .innerJoin('users', 'users.pk', 'user_pk')
      .select(['text', 'email'])
      .where(isLiveMessage)
      .where(isLiveUser('mentions.user_pk'))
      .execute(),
    appreciations: await db
      .selectFrom('appreciations')
      .innerJoin('messages', 'messages.pk', 'message_pk')
      .innerJoin('users', 'users.pk', 'user_pk')
      .select(['text', 'email'])
      .where(isLiveMessage)
      .where(isLiveUser('appreciations.user_pk'))
      .execute(),
    blocks: await db
      .selectFrom('blocks')
      .innerJoin('users', 'users.pk', 'user_pk')
      .innerJoin('users as blocked', 'blocked.pk', 'blocked_pk')
      .select(['users.email', 'blocked.email as address'])
      .where(isLiveUser('user_pk'))
      .where(isLiveUser('blocked_pk'))
      .execute(),
    reports: await db
      .selectFrom('reports')
      .leftJoin('messages', 'messages.pk', 'message_pk')
      .leftJoin('spaces', 'spaces.pk', 'reports.space_pk')
      .leftJoin('users as reported', 'reported.pk', 'reports.user_pk')
      .innerJoin('users', 'users.pk', 'reporter_pk')
      .select(['text', 'description', 'reported.email as address', 'users.email', 'reason'])
      .where(isLiveReport)
      .execute(),
  };
}

/** Returns the columns of a table that facts contain: all except internal keys and those in `notInFacts`. */
async function comparedColumns<Table extends 'users' | 'spaces'>(db: Database, table: Table) {
  const omitted = Object.values(notInFacts).flat();
  const tables = await db.introspection.getTables();
  const columns = tables.find(({ name }) => name === table)?.columns ?? [];
  return columns
    .map(({ name }) => name as keyof Schema[Table] & string)
    .filter((name) => !name.endsWith('pk') && !omitted.includes(`${table}.${name}`));
}

/** Returns the fact of a space, from its columns and tags or from the request that has set them. */
export function spaceValue(fields: object): string {
  const values = Object.entries(fields).filter(([, value]) => value !== null && value !== '');
  return JSON.stringify(Object.fromEntries(values.sort(([a], [b]) => (a < b ? -1 : 1))));
}
