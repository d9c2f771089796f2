import { readConfigOrExit } from './config.ts';
import { openLog } from './logging.ts';
import { serve } from './serve.ts';
import { isWorker, superviseWorkers, tellSupervisor } from './workers.ts';

const config = readConfigOrExit();
const log = openLog(config);
if (config.workers > 1 && !isWorker()) await superviseWorkers(config, log);
else await serve(config, log, { maintains: !isWorker() });
if (isWorker()) tellSupervisor();
