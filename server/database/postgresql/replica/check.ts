import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { OperatorError, withoutPassword } from '../../../errors.ts';
import type { Database } from '../../engine.ts';
import { isDenied, isMissingSchema } from '../errors.ts';
import type { ReplicaConnections, SnapshotState } from './connections.ts';
import {
  notStandby,
  OutdatedReplicaError,
  UnreadablePrimaryError,
  UnusableReplicaError,
} from './errors.ts';

/** How often, and at which intervals, a check reads a primary that seems to be behind its replica. */
const MAX_PRIMARY_READS = 10;
const PRIMARY_READ_INTERVAL_MS = 50;

/** Identifies a state of the service's database. */
interface DatabaseState {
  /** Different for each database, and the same on its replicas. */
  cursorKey: Buffer;
  migrations: string[];
  revision: number;
  /** The transaction that wrote the revision. */
  transaction: string;
}

/**
 * Checks that a replica has the identity, the migrations and the history of the primary.
 * @param url the URL of the replica, for messages
 * @throws OperatorError if the settings are wrong or the migrations differ; UnreadablePrimaryError if the primary
 *   cannot be read; otherwise UnusableReplicaError or an error of `readSnapshot`, after which a later check may succeed
 */
export async function checkReplica(
  connections: ReplicaConnections,
  primaryDb: Database,
  url: string,
): Promise<void> {
  const name = `DATABASE_READ_URL=${withoutPassword(url)}`;
  // Before the primary, so that the primary has every change of the replica.
  const { isStandby, ...replica } = await readReplicaState(connections, name);
  let primary = await readPrimaryState(primaryDb);
  if (!replica.cursorKey.equals(primary.cursorKey)) {
    throw new OperatorError(
      `${name} belongs to another database than DATABASE_URL. Use the URL of a standby of DATABASE_URL.`,
    );
  }
  if (!isDeepStrictEqual(primary.migrations, replica.migrations)) throw outdated(name);
  if (!isStandby) throw notStandby();
  // With synchronous replication, a replica can show a commit shortly before the primary does.
  for (let i = 1; primary.revision < replica.revision && i < MAX_PRIMARY_READS; i += 1) {
    await sleep(PRIMARY_READ_INTERVAL_MS);
    primary = await readPrimaryState(primaryDb);
  }
  const isSameRevision = primary.revision === replica.revision;
  if (
    primary.revision < replica.revision ||
    (isSameRevision && primary.transaction !== replica.transaction)
  ) {
    throw new UnusableReplicaError(
      'The server of DATABASE_READ_URL has changes that DATABASE_URL lacks, for example because a failover lost them.',
    );
  }
}

async function readReplicaState(
  connections: ReplicaConnections,
  name: string,
): Promise<DatabaseState & Pick<SnapshotState, 'isStandby'>> {
  try {
    return await connections.readSnapshot(async (snapshot, { isStandby }) => ({
      ...(await readState(snapshot)),
      isStandby,
    }));
  } catch (error) {
    if (isMissingSchema(error)) throw outdated(name, error);
    if (!isDenied(error)) throw error;
    throw new OperatorError(
      `${name} rejects the user name or the password, or does not allow the user to read the tables.`,
      { cause: error },
    );
  }
}

async function readPrimaryState(db: Database): Promise<DatabaseState> {
  try {
    return await readState(db);
  } catch (cause) {
    throw new UnreadablePrimaryError('The server of DATABASE_URL cannot be read.', { cause });
  }
}

async function readState(db: Database): Promise<DatabaseState> {
  const { rows } = await sql<DatabaseState>`
    SELECT
      (SELECT value FROM secrets WHERE name = 'cursor key') AS "cursorKey",
      (SELECT array_agg(name ORDER BY name) FROM kysely_migration) AS migrations,
      search_revision.value AS revision,
      search_revision.xmin::text AS transaction
    FROM search_revision`.execute(db);
  return rows[0] as DatabaseState;
}

function outdated(name: string, cause?: unknown): OutdatedReplicaError {
  return new OutdatedReplicaError(
    `${name} does not have the tables and migrations of DATABASE_URL. Check that it is a standby of that database, and that it is not far behind.`,
    { cause },
  );
}
