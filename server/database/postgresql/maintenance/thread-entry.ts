import { runThread, settings } from '../../maintenance/run-thread.ts';
import { connect } from '../dialect.ts';
import { createEngine } from '../engine.ts';
import { stoppingError } from '../errors.ts';
import { openPool } from '../pool.ts';
import { PostgresqlMaintenance } from './maintenance.ts';

/** One for a task, one for maintenance, and one for the snapshot of a dictionary refresh. */
const MAX_CONNECTIONS = 3;

/** Longer than any statement of maintenance takes to return its first row. */
const MAINTENANCE_RESPONSE_TIMEOUT_MS = 120_000;

/** Maintenance tries again in the next round. Without a timeout, an import would block the stop of the service. */
const LOCK_TIMEOUT_MS = 5_000;

const db = connect(
  openPool(settings.database, {
    maxConnections: MAX_CONNECTIONS,
    statementTimeoutMs: 0,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    responseTimeoutMs: MAINTENANCE_RESPONSE_TIMEOUT_MS,
  }),
);

const engine = createEngine(db);

await runThread({
  engine,
  createMaintenance: (tasks, stopping) =>
    new PostgresqlMaintenance(engine, stopping, tasks, settings),
  unavailableError: stoppingError,
});
