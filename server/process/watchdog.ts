import { spawn } from 'node:child_process';
import type { Config } from '../config.ts';

/** Messages per period of the watchdog. One may be late. */
const MESSAGES_PER_PERIOD = 3;

/**
 * Tells systemd regularly that this thread responds. Without these messages, systemd restarts the service. Does nothing
 * if the unit has no `WatchdogSec`. A program of systemd sends them, because Node.js lacks Unix datagram sockets.
 */
export function keepWatchdogQuiet({ watchdogMs }: Pick<Config, 'watchdogMs'>): void {
  if (watchdogMs === null) return;
  const notify = () => {
    const child = spawn('systemd-notify', ['WATCHDOG=1'], { stdio: 'ignore' });
    child.on('error', (error) => process.emitWarning(error)).unref();
  };
  notify();
  setInterval(notify, watchdogMs / MESSAGES_PER_PERIOD).unref();
}
