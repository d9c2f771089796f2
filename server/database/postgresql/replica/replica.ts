import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, ReplicaReads } from '../../engine.ts';
import { isConflict } from '../errors.ts';
import { checkReplica } from './check.ts';
import { ReplicaConnections } from './connections.ts';
import {
  isBusy,
  isTemporary,
  notStandby,
  OutdatedReplicaError,
  UnreadablePrimaryError,
} from './errors.ts';

const CHECK_INTERVAL_MS = 1_000;

/** At the start, how long the replica may take to replay migrations that the primary has just applied. */
const STARTUP_TIMEOUT_MS = 5_000;
const STARTUP_CHECK_INTERVAL_MS = 200;

export interface ReplicaOptions {
  url: string;
  /** The database that the replica must be a standby of. */
  primary: Database;
  /** Called when the replica becomes unusable: once, until it is usable again. */
  onUnusable: (cause: unknown) => void;
  /** Called when it is usable again, after `onUnusable`. */
  onUsable: () => void;
}

/**
 * A PostgreSQL standby for reads that require a minimum revision. It is checked every second, and used only while the
 * checks succeed. If it fails, a read runs on the primary, after at most a second.
 */
export class Replica {
  readonly #url: string;
  readonly #primary: Database;
  readonly #onUnusable: (cause: unknown) => void;
  readonly #onUsable: () => void;
  readonly #connections: ReplicaConnections;
  readonly #reads: ReplicaReads = { replica: 0, behind: 0, failed: 0 };
  readonly #stopping = new AbortController();
  #isUsable = false;
  #isReported = false;

  private constructor({ url, primary, onUnusable, onUsable }: ReplicaOptions) {
    this.#url = url;
    this.#primary = primary;
    this.#onUnusable = onUnusable;
    this.#onUsable = onUsable;
    this.#connections = new ReplicaConnections(url);
  }

  /**
   * Opens a replica. Waits some seconds if it lacks migrations that it may be about to replay. A replica that cannot be
   * reached is used later, after its first successful check.
   * @throws OperatorError if it belongs to another database, lacks migrations or rejects the login
   */
  static async open(options: ReplicaOptions): Promise<Replica> {
    const replica = new Replica(options);
    try {
      await replica.#checkAtStartup();
    } catch (error) {
      await replica.close();
      throw error;
    }
    void replica.#checkRegularly();
    return replica;
  }

  get reads(): Readonly<ReplicaReads> {
    return this.#reads;
  }

  /** See `Engine.readOnReplica`. */
  async read<T>(minRevision: number, read: (db: Database) => Promise<T>): Promise<T> {
    const outcome = await this.#tryRead(minRevision, read);
    if (typeof outcome === 'object') {
      this.#reads.replica += 1;
      return outcome.result;
    }
    this.#reads[outcome] += 1;
    return read(this.#primary);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#connections.close();
  }

  async #tryRead<T>(
    minRevision: number,
    read: (db: Database) => Promise<T>,
  ): Promise<{ result: T } | 'behind' | 'failed'> {
    if (!this.#isUsable) return 'failed';
    try {
      return await this.#connections.readSnapshot(async (snapshot, { isStandby, revision }) => {
        // A promoted standby can have changes that the primary lacks.
        if (!isStandby) throw notStandby();
        return revision < minRevision ? 'behind' : { result: await read(snapshot) };
      });
    } catch (error) {
      if (isConflict(error) || isBusy(error)) return 'failed';
      if (!isTemporary(error)) throw error;
      this.#stopUsing(error);
      return 'failed';
    }
  }

  async #checkAtStartup(): Promise<void> {
    const deadline = performance.now() + STARTUP_TIMEOUT_MS;
    for (;;) {
      try {
        await this.#check();
        return;
      } catch (error) {
        if (isTemporary(error)) {
          this.#stopUsing(error);
          return;
        }
        const mayCatchUp = error instanceof OutdatedReplicaError && performance.now() < deadline;
        if (!mayCatchUp) throw error;
      }
      await sleep(STARTUP_CHECK_INTERVAL_MS);
    }
  }

  async #checkRegularly(): Promise<void> {
    while (await this.#pause(CHECK_INTERVAL_MS)) {
      try {
        await this.#check();
      } catch (error) {
        // All connections are busy because of many reads.
        if (this.#isUsable && isBusy(error)) continue;
        this.#stopUsing(error);
      }
    }
  }

  /** Returns false if the replica is closed. */
  async #pause(milliseconds: number): Promise<boolean> {
    try {
      await sleep(milliseconds, undefined, { ref: false, signal: this.#stopping.signal });
      return true;
    } catch {
      return false;
    }
  }

  async #check(): Promise<void> {
    await checkReplica(this.#connections, this.#primary, this.#url);
    this.#isUsable = true;
    if (this.#isReported) this.#onUsable();
    this.#isReported = false;
  }

  #stopUsing(cause: unknown): void {
    this.#isUsable = false;
    // The primary is the cause, and the requests that fail on it report that.
    if (cause instanceof UnreadablePrimaryError) return;
    // Pending reads must not wait for their own timeouts, and later ones must not find a connection that hangs.
    this.#connections.reset();
    if (this.#isReported || this.#stopping.signal.aborted) return;
    this.#isReported = true;
    this.#onUnusable(cause);
  }
}
