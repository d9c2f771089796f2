import { existsSync } from 'node:fs';
import { sql } from 'kysely';
import type {
  Database,
  DatabaseTransaction,
  Engine,
  IndexableSpace,
  Indexer,
  IndexMark,
  IsChanged,
  SearchIndex,
} from '../../engine.ts';
import { HIDDEN_SPACES } from '../../hidden-spaces.ts';
import { columnOf } from '../../prepared.ts';
import type { PublicSpaces, Users } from '../../schema.ts';
import { connect } from '../../sqlite/dialect.ts';
import { createEngine } from '../../sqlite/engine.ts';
import { limitReads } from '../../sqlite/search-index.ts';
import type { Meter } from '../../sqlite/waiting.ts';
import { readSnapshot, transact } from '../../transaction.ts';
import { stoppingError } from '../errors.ts';
import { damage, deleteCopy, findCopy, isDamage, prepareCopy } from './copy-file.ts';
import {
  type CopyPhase,
  type CopyState,
  readLastSpacePk,
  readState,
  writeState,
} from './copy-state.ts';
import {
  beginEpoch,
  type LoggedChange,
  type LogState,
  readLargeTransactions,
  readLog,
  readLogState,
  readTransaction,
  recordChanges,
} from './log.ts';
import {
  decodeSnapshot,
  encodeSnapshot,
  includes,
  parseSnapshot,
  type Snapshot,
  shows,
} from './snapshot.ts';
import {
  deletePending,
  deleteUnusedTags,
  deleteUsers,
  enqueueSpacesOf,
  insertPending,
  insertPendingTransactions,
  insertSpaceChanges,
  insertTags,
  insertUsers,
  selectLastChanges,
  selectPublic,
  selectRows,
  selectSpacesChangedBy,
  selectTags,
  selectTagsOf,
  selectUsers,
  updateCount,
} from './statements.ts';

/**
 * A transaction with more changes does not delay searches: the spaces that it removes disappear at once, and the others
 * are added in steps.
 */
const MAX_CHANGES_AT_ONCE = 500;

/** A disk may damage every copy. */
const MAX_PREPARATIONS = 5;

/** Number of spaces that one step adds or removes while searches run. */
const SPACES_PER_STEP = 200;

/** Number of spaces that one step adds before the copy can be searched, and that a comparison reads at once. */
const SPACES_PER_BATCH = 5_000;

/** How often maintenance advances the stored snapshot without changes. An old one would seem to be from before the log. */
const SNAPSHOT_REFRESH_MS = 10_000;

/**
 * Maximum length of a snapshot in a cursor, which must fit into a URL. Enough for a thousand open transactions; digits
 * are compressed to about half.
 */
const MAX_MARK_CHARACTERS = 4_000;

/** Longer than any query on a copy, except for a comparison. */
const CLOSE_DELAY_MS = 60_000;

type Mark = readonly [epoch: string, end: number, ...openDifferences: number[]];

/**
 * A copy of the search index in a SQLite file, which follows a PostgreSQL database. It stores the snapshot of the
 * database that it shows. All processes of a machine share the file, and each of them can update it.
 */
export class SearchCopy implements SearchIndex {
  readonly #folder: string;
  readonly #source: Database;
  readonly #indexer: Indexer;
  readonly #meter: Meter | undefined;
  #opened: { file: string; engine: Engine } | undefined;
  readonly #limitRead = limitReads();
  #running: Promise<void> | undefined;
  #waiting: Promise<void> | undefined;
  #refreshedAt = 0;

  /** @param folder prepared by `prepareCopy` */
  constructor(folder: string, source: Database, indexer: Indexer, meter?: Meter) {
    this.#folder = folder;
    this.#source = source;
    this.#indexer = indexer;
    this.#meter = meter;
  }

  /** @throws an error for which `Engine.isUnavailable` returns true if the file was deleted and is not created again yet */
  #open(): { file: string; engine: Engine } {
    if (this.#opened && existsSync(this.#opened.file)) return this.#opened;
    const file = findCopy(this.#folder);
    if (file === undefined) throw notReady();
    if (this.#opened) closeLater(this.#opened.engine);
    this.#opened = { file, engine: createEngine(connect(file, this.#meter)) };
    return this.#opened;
  }

  /** The file of the copy. Changes if it is damaged or deleted. */
  get file(): string {
    return this.#open().file;
  }

  /** The copy as a database of its own, for maintenance. */
  get engine(): Engine {
    return this.#open().engine;
  }

  get db(): Database {
    return this.engine.db;
  }

  read<T>(work: (snapshot: Database) => Promise<T>): Promise<T> {
    return this.deleteIfDamaged(() =>
      this.#limitRead(() =>
        readSnapshot(this.db, async (snapshot) => {
          // The copy may have been deleted since `update`.
          if ((await readState(snapshot)).phase !== 'complete') throw notReady();
          return work(snapshot);
        }),
      ),
    );
  }

  waitingReads(): number {
    return this.#limitRead.countWaiting();
  }

  /**
   * Runs `work` with the copy. If the copy proves to be damaged, deletes it, so that maintenance builds another one.
   * @throws an error for which `Engine.isUnavailable` returns true if it is damaged; errors of `work`
   */
  async deleteIfDamaged<T>(work: () => Promise<T>): Promise<T> {
    const opened = this.#opened;
    try {
      return await work();
    } catch (error) {
      if (!isDamage(error)) throw error;
      // Another process may have replaced it already.
      const file = (opened ?? this.#opened)?.file;
      if (file !== undefined && existsSync(file)) {
        process.emitWarning(
          `The copy of the search index is built again, because it is damaged: ${(error as Error).message}`,
        );
        deleteCopy(file);
      }
      throw notReady();
    }
  }

  /**
   * Reads the whole file, in about 3 s per 700 MB. If it is damaged, deletes it. Otherwise, damage is noticed only by
   * searches that read it, and by some of them not at all.
   * @throws an error for which `Engine.isUnavailable` returns true if it is damaged
   */
  check(): Promise<void> {
    return this.deleteIfDamaged(async () => {
      const result = await sql<{ quick_check: string }>`PRAGMA quick_check(1)`.execute(this.db);
      const found = result.rows[0]?.quick_check;
      if (found !== 'ok') throw damage(String(found));
    });
  }

  record = recordChanges;

  /**
   * At most one question to PostgreSQL runs and one waits. A caller cannot use the running one, because it may have been
   * answered before the caller's last write.
   */
  update(): Promise<void> {
    if (!this.#running) {
      this.#running = this.deleteIfDamaged(() => this.#update()).finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#waiting ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#waiting = undefined;
        return this.update();
      });
    return this.#waiting;
  }

  async hasHiddenSpaces(snapshot: Database): Promise<boolean> {
    const { rows } = await sql`SELECT 1 FROM ${HIDDEN_SPACES} LIMIT 1`.execute(snapshot);
    return rows.length > 0;
  }

  async readMark(snapshot: Database): Promise<IndexMark> {
    const { epoch, snapshot: shown } = await readState(snapshot);
    return [epoch, ...encodeSnapshot(shown, MAX_MARK_CHARACTERS)] satisfies Mark;
  }

  async changesSince(snapshot: Database, mark: IndexMark): Promise<IsChanged | undefined> {
    const [epoch, ...encoded] = mark as Mark;
    const { min, end, open } = decodeSnapshot(encoded);
    const state = await readState(snapshot);
    if (epoch !== state.epoch || min <= state.bound) return undefined;
    const rows = await selectSpacesChangedBy(
      snapshot,
      open.map((xid) => ({ xid })),
    );
    const changed = new Set(rows.map(({ space_pk }) => space_pk));
    return ({ key, revision }) => revision >= end || changed.has(this.#indexer.spacePkOf(key));
  }

  async isReady(): Promise<boolean> {
    try {
      return (await readState(this.db)).phase !== 'building';
    } catch (error) {
      if (isNotReady(error)) return false;
      throw error;
    }
  }

  async #update(): Promise<void> {
    for (;;) {
      const state = await readState(this.db);
      const log = await readLogState(this.#source, state.snapshot);
      if (state.phase !== 'complete' || isUnrelated(state, log)) throw notReady();
      if (!log.hasChanges || (await this.#apply(state, []))) return;
    }
  }

  /**
   * Builds the copy, or repairs it if it cannot follow the log. Then adds the pending spaces.
   * @param onRepair called with the reason if it must be repaired
   * @param onProgress called with the number of spaces that are left to add
   */
  async prepare(
    onRepair: (reason: string) => void,
    onProgress: (spaces: number) => void,
  ): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.deleteIfDamaged(async () => {
          await this.maintain(onRepair);
          while (await this.removeHidden());
          while (await this.addPending(SPACES_PER_BATCH)) onProgress(await this.countPending());
        });
      } catch (error) {
        // It was damaged and is deleted now, or PostgreSQL was restarted meanwhile.
        if (!isNotReady(error) || attempt === MAX_PREPARATIONS) throw error;
      }
    }
  }

  /**
   * Creates the copy if it was deleted, repairs it if it cannot follow the log, and otherwise applies the changes, or
   * advances the stored snapshot.
   */
  async maintain(onRepair: (reason: string) => void): Promise<void> {
    if (findCopy(this.#folder) === undefined) {
      onRepair('its file is missing');
      await prepareCopy(this.#folder, this.#indexer.version, onRepair);
    }
    const state = await readState(this.db);
    let log = await readLogState(this.#source, state.snapshot);
    if (log.epoch === null) {
      await beginEpoch(this.#source);
      log = await readLogState(this.#source, state.snapshot);
    }
    if (isUnrelated(state, log)) {
      if (state.epoch !== '') {
        onRepair(
          state.epoch === log.epoch
            ? 'the database no longer has all changes since it was last updated'
            : 'the database was restarted, restored or replaced',
        );
      }
      await this.#repair();
      return;
    }
    const isDue = performance.now() > this.#refreshedAt + SNAPSHOT_REFRESH_MS;
    if (log.hasChanges || isDue) await this.#apply(state, []);
  }

  /**
   * Adds a step of the pending spaces.
   * @returns false if there are none
   */
  async addPending(limit?: number): Promise<boolean> {
    if (await this.#addTransaction()) return true;
    const state = await readState(this.db);
    const size = limit ?? (state.phase === 'complete' ? SPACES_PER_STEP : SPACES_PER_BATCH);
    const { rows } = await sql<{ space_pk: number }>`
      SELECT space_pk FROM pending_spaces ORDER BY space_pk DESC LIMIT ${size}`.execute(this.db);
    if (rows.length > 0) {
      await this.#apply(
        state,
        rows.map(({ space_pk }) => space_pk),
      );
      return true;
    }
    if (state.phase !== 'complete') {
      // Another process may have enqueued some meanwhile, or replaced the file.
      await sql`UPDATE copy_state SET phase = 'complete'
        WHERE epoch = ${state.epoch} AND NOT EXISTS (SELECT 1 FROM pending_spaces)`.execute(
        this.db,
      );
    }
    return false;
  }

  /**
   * Removes a step of the spaces of suspended and deleted users. Results already omit them.
   * @returns false if there are none
   */
  async removeHidden(): Promise<boolean> {
    const { rows } = await sql`SELECT 1 FROM erased_spaces LIMIT 1`.execute(this.db);
    if (rows.length === 0) return false;
    await transact(this.engine, (index) => this.#removeHidden(index));
    return true;
  }

  async #removeHidden(index: DatabaseTransaction): Promise<void> {
    const { rows } = await sql<{ space_pk: number; isHidden: number | null }>`
      SELECT erased_spaces.space_pk, creator_pk NOT IN (SELECT pk FROM users) AS "isHidden"
      FROM erased_spaces LEFT JOIN public_spaces ON public_spaces.space_pk = erased_spaces.space_pk
      ORDER BY erased_spaces.space_pk LIMIT ${SPACES_PER_STEP}`.execute(index);
    // Those of users whose suspension has ended stay.
    const hidden = rows.filter(({ isHidden }) => isHidden === 1);
    await this.#write(index, columnOf(hidden, 'space_pk'), NO_CONTENTS);
    const last = rows.at(-1)?.space_pk ?? 0;
    await sql`DELETE FROM erased_spaces WHERE space_pk <= ${last}`.execute(index);
  }

  async countPending(): Promise<number> {
    const count = () =>
      sql<{ count: number }>`
        SELECT (SELECT count(*) FROM pending_spaces)
          + (SELECT coalesce(sum(changes), 0) FROM pending_transactions) AS count`.execute(this.db);
    try {
      const { rows } = await this.deleteIfDamaged(count);
      return rows[0]?.count ?? 0;
    } catch (error) {
      // Until maintenance has created the copy again, nothing is pending in it.
      if (isNotReady(error)) return 0;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#opened?.engine.close();
  }

  /**
   * Applies the changes since the state of the copy, and adds pending spaces.
   * @returns false if the state must be read again, because another process has changed the copy meanwhile, or because
   *   there were so many changes that the copy must be built from here
   */
  async #apply(state: CopyState, pending: readonly number[]): Promise<boolean> {
    const lastSpacePk = await readLastSpacePk(this.db);
    const read = await readSnapshot(this.#source, async (source) => {
      const log = await readLogState(source, state.snapshot);
      if (isUnrelated(state, log)) throw notReady();
      const large = await readLargeTransactions(source, state.snapshot, MAX_CHANGES_AT_ONCE);
      const changes = await readLog(source, state.snapshot, large, lastSpacePk);
      const largeXids = new Set(large.map(({ xid }) => xid));
      const small = changes.filter(({ xid }) => !largeXids.has(xid));
      const changed = pksOf(small, 'space_pk');
      // Their texts may not fit into memory.
      const postponed = changed.length > SPACES_PER_BATCH ? changed : [];
      const wanted = new Set([...(postponed.length > 0 ? [] : changed), ...pending]);
      const others = pksOf(changes, 'space_pk').filter((pk) => !wanted.has(pk));
      const stillPublic = new Set((await selectPublic(source, toRows(others))).map(({ pk }) => pk));
      return {
        log,
        large,
        small,
        postponed,
        wanted: [...wanted],
        removed: others.filter((pk) => !stillPublic.has(pk)),
        contents: await this.#readContents(source, [...wanted], pksOf(changes, 'user_pk')),
      };
    });
    const { log, large, postponed, wanted, removed } = read;
    const snapshot = parseSnapshot(log.snapshot);
    const isApplied = await transact(this.engine, async (index) => {
      const current = await readState(index);
      if (current.epoch !== state.epoch || current.epoch !== log.epoch) return false;
      // Another process was faster. Without a later change, the pending spaces are as they were read.
      const isShown = includes(current.snapshot, snapshot);
      if (isShown && (pending.length === 0 || !includes(snapshot, current.snapshot))) return true;
      // Large transactions could have removed spaces that it has added meanwhile, also without another snapshot.
      if (large.length > 0 && (await readLastSpacePk(index)) > lastSpacePk) return false;
      await insertSpaceChanges(index, marksOf(read.small));
      await this.#write(index, [...wanted, ...removed], read.contents);
      await insertPendingTransactions(
        index,
        // Another process may have stored some, and even added their spaces.
        large.filter(({ xid }) => !shows(current.snapshot, xid)),
      );
      await insertPending(index, toSpacePks(postponed));
      await deletePending(index, toSpacePks([...wanted, ...removed]));
      // The spaces of most users are removed at once.
      if (read.contents.hiddenUsers.length > 0) await this.#removeHidden(index);
      const phase = postponed.length > 0 ? incomplete(current) : current.phase;
      await writeState(index, { ...current, snapshot, bound: log.bound, phase });
      await sql`DELETE FROM space_changes WHERE xid <= ${log.bound}`.execute(index);
      return postponed.length === 0;
    });
    if (isApplied) this.#refreshedAt = performance.now();
    return isApplied;
  }

  /**
   * Adds a part of the spaces of a large transaction to those that are pending.
   * @returns false if there is no such transaction
   */
  async #addTransaction(): Promise<boolean> {
    const { rows } = await sql<{ xid: number; after: number }>`
      SELECT xid, after FROM pending_transactions LIMIT 1`.execute(this.db);
    const [transaction] = rows;
    if (!transaction) return false;
    const { xid, after } = transaction;
    const changes = await readTransaction(this.#source, xid, after, SPACES_PER_BATCH);
    const spaces = await selectPublic(this.#source, toRows(pksOf(changes, 'space_pk')));
    await transact(this.engine, async (index) => {
      const last = changes.at(-1);
      const { numAffectedRows } = last
        ? await sql`UPDATE pending_transactions SET after = ${last.id}, changes = changes - ${changes.length}
            WHERE xid = ${xid} AND after = ${after}`.execute(index)
        : await sql`DELETE FROM pending_transactions WHERE xid = ${xid} AND after = ${after}`.execute(
            index,
          );
      // Another process was faster.
      if (numAffectedRows !== 1n) return;
      await insertSpaceChanges(index, marksOf(changes));
      await insertPending(
        index,
        spaces.map(({ pk }) => ({ space_pk: pk })),
      );
    });
    return true;
  }

  async #readContents(
    source: Database,
    spacePks: readonly number[],
    userPks: readonly number[],
  ): Promise<Contents> {
    const spaces = await this.#indexer.readSpaces(source, spacePks);
    const users = [...new Set([...userPks, ...spaces.map(({ creator_pk }) => creator_pk)])];
    const tagIds = new Set(spaces.flatMap(({ tags }) => tags.map(({ tag_id }) => tag_id)));
    const found = await selectUsers(source, toRows(users));
    const visible = found.filter(({ suspended_at }) => suspended_at === null);
    const visiblePks = new Set(visible.map(({ pk }) => pk));
    return {
      spaces,
      users: visible,
      hiddenUsers: users.filter((pk) => !visiblePks.has(pk)),
      hasDeletions: found.length < users.length,
      tags: await selectTags(
        source,
        Array.from(tagIds, (tag_id) => ({ tag_id })),
      ),
    };
  }

  /** Replaces spaces, and the users and tags that they need. */
  async #write(
    index: DatabaseTransaction,
    spacePks: readonly number[],
    { spaces, users, hiddenUsers, hasDeletions, tags }: Contents,
  ): Promise<void> {
    const former = await selectRows(index, toSpacePks(spacePks));
    const marks = await selectLastChanges(index, toSpacePks(spacePks));
    const lastChange = new Map(marks.map(({ space_pk, xid }) => [space_pk, xid]));
    const formerTags = await selectTagsOf(
      index,
      former.map(({ key }) => ({ key })),
    );
    const revision = (pk: number) => lastChange.get(pk) ?? 0;
    const rows = new Map(former.map((row) => [row.space_pk, row]));
    // A join usually changes only the count, which needs no change of the words.
    const recounted = spaces.filter((space) => {
      const row = rows.get(space.pk);
      return row && isSameDocument(row, this.#indexer.rowOf(space));
    });
    for (const { pk, participant_count } of recounted) {
      await updateCount(index, { space_pk: pk, participant_count, revision: revision(pk) });
    }
    const unmoved = new Set(recounted.map(({ pk }) => pk));
    const replace = (pks: readonly number[], added: readonly IndexableSpace[]) =>
      this.#indexer.replaceSpaces(this.engine, index, pks, added, revision);
    // First, because a tag that was deleted and created again has another id.
    await replace(
      spacePks.filter((pk) => !unmoved.has(pk)),
      [],
    );
    await deleteUnusedTags(index, formerTags);
    await insertTags(index, tags);
    await insertUsers(index, users);
    await replace(
      [],
      spaces.filter(({ pk }) => !unmoved.has(pk)),
    );
    // Removing thousands of spaces takes seconds.
    await enqueueSpacesOf(index, toRows(hiddenUsers));
    await deleteUsers(index, toRows(hiddenUsers));
    if (hasDeletions) await this.engine.requestPurge(index);
  }

  /**
   * Compares all spaces with the copy. Removes those that differ, and enqueues those that are missing then. Reads the
   * database in one snapshot, which the copy shows when they have been added.
   */
  async #repair(): Promise<void> {
    // A comparison of spaces does not notice that the suspension of their creator has ended.
    while (await this.removeHidden());
    const before = await readState(this.db);
    const spaces = this.db.selectFrom('public_spaces').selectAll().orderBy('space_pk').stream();
    const users = this.db.selectFrom('users').selectAll().stream();
    try {
      // Before the transaction, in which no stream of another database can begin.
      const [firstSpace, firstUser] = [await spaces.next(), await users.next()];
      const read = await readSnapshot(this.#source, async (source) => ({
        log: await readLogState(source, NOTHING_SHOWN),
        changes: await readLog(source, NOTHING_SHOWN),
        ...(await this.#compareSpaces(source, firstSpace, spaces)),
        users: await this.#compareUsers(source, firstUser, users),
      }));
      await this.#writeRepair(before, read);
    } finally {
      await spaces.return?.();
      await users.return?.();
    }
  }

  /**
   * Compares all public spaces with the rows of a copy. Millions of spaces do not fit into memory, so both are read in
   * the order of their keys.
   * @returns the keys of the rows to remove, and those of the spaces to add then
   */
  async #compareSpaces(
    source: Database,
    row: IteratorResult<PublicSpaces>,
    rows: AsyncIterator<PublicSpaces>,
  ): Promise<{ differing: number[]; missing: number[] }> {
    const differing: number[] = [];
    const missing: number[] = [];
    for (let next = row, after = 0; ; ) {
      const batch = await source
        .selectFrom('spaces')
        .select('pk')
        .where('pk', '>', after)
        .where('visibility', '=', 'public')
        .orderBy('pk')
        .limit(SPACES_PER_BATCH)
        .execute();
      const spaces = await this.#indexer.readSpaces(source, columnOf(batch, 'pk'));
      const wanted = new Map(spaces.map((space) => [space.pk, this.#indexer.rowOf(space)]));
      after = batch.at(-1)?.pk ?? Infinity;
      for (; !next.done && next.value.space_pk <= after; next = await rows.next()) {
        const { space_pk } = next.value;
        const space = wanted.get(space_pk);
        if (space && isSameRow(space, next.value)) wanted.delete(space_pk);
        else differing.push(space_pk);
      }
      missing.push(...wanted.keys());
      if (batch.length === 0) return { differing, missing };
    }
  }

  /** Returns the changes of the users of a copy. */
  async #compareUsers(
    source: Database,
    user: IteratorResult<User>,
    users: AsyncIterator<User>,
  ): Promise<Contents> {
    const changed: Contents = { ...NO_CONTENTS, users: [], hiddenUsers: [] };
    for (let next = user; !next.done; ) {
      const batch: User[] = [];
      for (; !next.done && batch.length < SPACES_PER_BATCH; next = await users.next()) {
        batch.push(next.value);
      }
      const former = new Map(batch.map((each) => [each.pk, each]));
      const contents = await this.#readContents(source, [], columnOf(batch, 'pk'));
      changed.hiddenUsers.push(...contents.hiddenUsers);
      changed.users.push(
        ...contents.users.filter((each) => !isSameUser(each, former.get(each.pk) as User)),
      );
    }
    return changed;
  }

  async #writeRepair(
    before: CopyState,
    { log, changes, differing, missing, users }: Repair,
  ): Promise<void> {
    await transact(this.engine, async (index) => {
      const current = await readState(index);
      // Another process was faster.
      if (current.epoch !== before.epoch || current.snapshot.end !== before.snapshot.end) return;
      await sql`DELETE FROM space_changes`.execute(index);
      await insertSpaceChanges(index, marksOf(changes));
      // In batches, because their texts may not fit into memory.
      for (let i = 0; i < differing.length; i += SPACES_PER_BATCH) {
        await this.#write(index, differing.slice(i, i + SPACES_PER_BATCH), NO_CONTENTS);
      }
      await this.#write(index, [], users);
      await sql`DELETE FROM pending_transactions`.execute(index);
      await sql`DELETE FROM pending_spaces`.execute(index);
      await insertPending(index, toSpacePks(missing));
      await this.engine.requestPurge(index);
      await writeState(index, {
        epoch: log.epoch ?? '',
        snapshot: parseSnapshot(log.snapshot),
        bound: log.bound,
        phase: missing.length > 0 ? incomplete(current) : 'complete',
      });
    });
  }
}

/** The result of a comparison of a copy with the database. */
interface Repair {
  log: LogState;
  changes: readonly LoggedChange[];
  differing: readonly number[];
  missing: readonly number[];
  users: Contents;
}

/** Closes the engine of a deleted file, whose space the disk keeps until then, when no query can still use it. */
function closeLater(engine: Engine): void {
  setTimeout(() => engine.close().catch(process.emitWarning), CLOSE_DELAY_MS).unref();
}

interface Contents {
  spaces: IndexableSpace[];
  users: User[];
  /** The keys of suspended and deleted users. */
  hiddenUsers: number[];
  /** Whether some of them were deleted. */
  hasDeletions: boolean;
  tags: { tag_id: number; tag_key: string }[];
}

const NO_CONTENTS: Contents = {
  spaces: [],
  users: [],
  hiddenUsers: [],
  hasDeletions: false,
  tags: [],
};

/** A row of `users` in a copy. */
type User = Pick<Users, 'user_id' | 'username' | 'avatar'> & { pk: number };

const NOTHING_SHOWN: Snapshot = { min: 0, end: 0, open: [] };

/** Whether a copy cannot be updated from the log alone. */
function isUnrelated(
  { epoch, needed }: CopyState,
  log: { epoch: string | null; bound: number },
): boolean {
  return epoch === '' || epoch !== log.epoch || needed <= log.bound;
}

/** Returns the phase of a copy that is not complete any more, or not yet. */
function incomplete({ phase }: CopyState): CopyPhase {
  return phase === 'complete' ? 'repairing' : phase;
}

const NOT_READY = 'The search index is being built or repaired.';

function notReady(): Error {
  return stoppingError(NOT_READY);
}

function isNotReady(error: unknown): boolean {
  return error instanceof Error && error.message === NOT_READY;
}

function pksOf(changes: readonly LoggedChange[], column: 'space_pk' | 'user_pk'): number[] {
  return [...new Set(changes.flatMap(({ [column]: pk }) => (pk === null ? [] : [pk])))];
}

function marksOf(changes: readonly LoggedChange[]): { xid: number; space_pk: number }[] {
  return changes.flatMap(({ xid, space_pk, omit }) =>
    omit && space_pk !== null ? [{ xid, space_pk }] : [],
  );
}

function toRows(pks: readonly number[]): { pk: number }[] {
  return pks.map((pk) => ({ pk }));
}

function toSpacePks(pks: readonly number[]): { space_pk: number }[] {
  return pks.map((space_pk) => ({ space_pk }));
}

type SpaceRow = Omit<PublicSpaces, 'revision'>;

function isSameRow(a: SpaceRow, b: SpaceRow): boolean {
  return a.participant_count === b.participant_count && isSameDocument(a, b);
}

/** Whether two rows of a space differ at most in the count of participants. */
function isSameDocument(a: SpaceRow, b: SpaceRow): boolean {
  return (
    a.key === b.key &&
    a.creator_pk === b.creator_pk &&
    a.title_key === b.title_key &&
    a.head === b.head &&
    a.tail === b.tail
  );
}

function isSameUser(a: User, b: User): boolean {
  return a.user_id === b.user_id && a.username === b.username && a.avatar === b.avatar;
}
