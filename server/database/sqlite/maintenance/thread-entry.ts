import { runThread, settings, stopSignal } from '../../maintenance/run-thread.ts';
import { connect } from '../dialect.ts';
import { createEngine } from '../engine.ts';
import { busyError } from '../errors.ts';
import { startMeter } from '../waiting.ts';
import { SqliteMaintenance } from './maintenance.ts';

const { database: file } = settings;
const db = connect(file, startMeter(), stopSignal);

await runThread({
  engine: createEngine(db),
  createMaintenance: (tasks, stopping) => new SqliteMaintenance(db, file, stopping, tasks),
  unavailableError: busyError,
});
