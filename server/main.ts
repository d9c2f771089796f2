import cluster from 'node:cluster';
import { readArguments } from './command-line/arguments.ts';
import { configFromEnvironment } from './config.ts';
import { EX_CONFIG, EX_TEMPFAIL } from './process/exit-codes.js';
import { openLog } from './process/log.ts';
import { explainInsecureVersion } from './process/node-version.js';
import { runProgram } from './process/program.ts';
import { serve } from './process/serve.ts';
import { notifyReady, superviseWorkers } from './process/workers.ts';

readArguments('start');

await runProgram(
  async () => {
    const config = configFromEnvironment();
    const log = openLog(config);
    if (cluster.isWorker) {
      await serve(config, log, { runsMaintenance: false });
      notifyReady();
    } else if (config.workers > 1) {
      await superviseWorkers(config, log);
      warnAboutNodeVersion();
    } else {
      await serve(config, log, { runsMaintenance: true });
      warnAboutNodeVersion();
    }
  },
  EX_CONFIG,
  EX_TEMPFAIL,
);

function warnAboutNodeVersion(): void {
  const warning = explainInsecureVersion(process.versions.node);
  if (warning !== undefined) console.error(warning);
}
