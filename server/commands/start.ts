import cluster from 'node:cluster';
import type { Command } from '../command-line/command.ts';
import { readConfig } from '../config.ts';
import { logProcessEvents, openLog } from '../process/log.ts';
import { explainInsecureVersion } from '../process/node-version.js';
import { serve } from '../process/serve.ts';
import { sendHeartbeats, superviseWorkers } from '../process/workers.ts';

/** Starts the server, or one of its workers, and returns when it is ready. */
export const start: Command = async (_, { environment, console }) => {
  const config = readConfig(environment);
  const log = openLog(config);
  logProcessEvents(log);
  if (cluster.isWorker) {
    await serve(config, log, { runsMaintenance: false });
    sendHeartbeats();
    return;
  }
  if (config.workers > 1) await superviseWorkers(config, log);
  else await serve(config, log, { runsMaintenance: true });
  const warning = explainInsecureVersion(process.versions.node);
  if (warning !== undefined) console.error(warning);
};
