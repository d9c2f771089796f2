import { readdirSync, readFileSync } from 'node:fs';
import type { FastifyBaseLogger } from 'fastify';
import { codeOf } from '../database/error-code.ts';

const CHECK_INTERVAL_MS = 5_000;

/** Above this share of the limit, the service is about to reject connections. */
const WARNING_SHARE = 0.9;

/** Warns once when this process has nearly as many open files and connections as it may have. Only on Linux. */
export function watchDescriptors(log: Pick<FastifyBaseLogger, 'warn'>): void {
  if (process.platform !== 'linux') return;
  const limit = Number(
    /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1],
  );
  let isWarned = false;
  const check = () => {
    const open = countOpen();
    if (open < limit * WARNING_SHARE) isWarned = false;
    else if (!isWarned) {
      isWarned = true;
      log.warn(
        { open, limit },
        'nearly all file descriptors are in use, and further connections will be rejected: raise the limit, LimitNOFILE in the systemd unit',
      );
    }
  };
  setInterval(check, CHECK_INTERVAL_MS).unref();
}

/** Infinite if none is left for counting them. */
function countOpen(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch (error) {
    if (codeOf(error) === 'EMFILE') return Infinity;
    throw error;
  }
}
