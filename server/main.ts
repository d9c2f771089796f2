import { configFromEnvironment } from './config.ts';
import { openLog } from './process/log.ts';
import { insecureVersion } from './process/node-version.js';
import { runProgram } from './process/program.ts';
import { serve } from './process/serve.ts';
import { isWorker, superviseWorkers, tellSupervisor } from './process/workers.ts';

/** That something has to be mended first (EX_CONFIG of sysexits.h): the systemd unit does not try again. */
const UNABLE = 78;

await runProgram(async () => {
  const config = configFromEnvironment();
  const log = openLog(config);
  if (config.workers > 1 && !isWorker()) await superviseWorkers(config, log);
  else await serve(config, log, { runsMaintenance: !isWorker() });
  if (isWorker()) tellSupervisor();
  else warnOfNodeVersion();
}, UNABLE);

function warnOfNodeVersion(): void {
  const warning = insecureVersion(process.versions.node);
  if (warning !== undefined) console.error(warning);
}
