import { OperatorError } from '../../../errors.ts';
import { isDenied, isPoolExhausted, isUnavailable } from '../errors.ts';

/** The replica lacks migrations of the primary. */
export class OutdatedReplicaError extends OperatorError {}

/** The replica does not respond in time, is not a standby, or its rows may differ from those of the primary. */
export class UnusableReplicaError extends Error {}

/** A read did not get enough time, because others held all connections. */
export class BusyReplicaError extends Error {}

/** The replica could not be compared with the primary, because the primary could not be read. The cause says why. */
export class UnreadablePrimaryError extends Error {}

export function notStandby(): UnusableReplicaError {
  return new UnusableReplicaError('The server of DATABASE_READ_URL is not a standby.');
}

/**
 * Whether the replica may become usable again without a change of the settings. Includes a denied read, so that it runs
 * on the primary. At the start, a denied read must end the service, so `checkReplica` converts it to an OperatorError.
 */
export function isTemporary(error: unknown): boolean {
  if (error instanceof UnreadablePrimaryError) return isTemporary(error.cause);
  return (
    isUnavailable(error) ||
    isDenied(error) ||
    error instanceof UnusableReplicaError ||
    error instanceof BusyReplicaError
  );
}

/** Returns whether all connections, to the replica or to the primary, were occupied by other queries. */
export function isBusy(error: unknown): boolean {
  if (error instanceof UnreadablePrimaryError) return isPoolExhausted(error.cause);
  return isPoolExhausted(error) || error instanceof BusyReplicaError;
}
