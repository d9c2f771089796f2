import { dirname } from 'node:path';
import { erasureJournal, recordErasures } from '../../erasure-journal.ts';
import { runThread, settings, stopSignal } from '../../maintenance/run-thread.ts';
import { DamageWatch } from '../check.ts';
import { isMarkedAsDamaged } from '../damage.ts';
import { connect } from '../dialect.ts';
import { createEngine } from '../engine.ts';
import { busyError, isDamage } from '../errors.ts';
import { startMeter } from '../waiting.ts';
import { SqliteMaintenance } from './maintenance.ts';

/** The first check is later than the start, which it would delay. */
const FIRST_CHECK_MS = 60_000;

const CHECK_INTERVAL_MS = 24 * 3_600_000;

const { database: file } = settings;
const journal = erasureJournal({ dataDir: dirname(file) });

const watch = new DamageWatch(file);
const db = connect(file, startMeter(watch.report), stopSignal);

await runThread({
  engine: createEngine(db),
  createMaintenance(tasks, stopping) {
    const maintenance = new SqliteMaintenance(db, file, stopping, tasks, () =>
      recordErasures(db, journal),
    );
    // The damaged file may have been replaced.
    let nextCheckAt = performance.now() + (isMarkedAsDamaged(file) ? 0 : FIRST_CHECK_MS);
    return {
      async runRound() {
        if (performance.now() > nextCheckAt) {
          nextCheckAt = performance.now() + CHECK_INTERVAL_MS;
          watch.report();
        }
        try {
          await maintenance.runRound();
        } catch (error) {
          // The watch repairs what can be repaired.
          if (!isDamage(error)) throw error;
        }
      },
      stop: () => watch.settle(),
    };
  },
  unavailableError: busyError,
});
