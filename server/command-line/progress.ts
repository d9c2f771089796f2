import { quantity } from '../text/quantity.ts';

/** Earlier, rates say little. */
const MIN_SECONDS = 1;

export interface Progress {
  lines: number;
  /** Since the start. */
  seconds: number;
  bytes: number;
  /** Undefined for a pipe. */
  totalBytes?: number | undefined;
}

/** Returns the lines that have been read, and after a second also their rate and the remaining time, if it is known. */
export function describeProgress({ lines, seconds, bytes, totalBytes }: Progress): string {
  const parts = [quantity(lines, 'line')];
  if (seconds >= MIN_SECONDS) {
    parts.push(`${Math.round(lines / seconds).toLocaleString('en')} per second`);
    if (totalBytes !== undefined && bytes > 0) {
      const remaining = (seconds * Math.max(0, totalBytes - bytes)) / bytes;
      parts.push(`about ${describeSeconds(Math.ceil(remaining))} left`);
    }
  }
  return parts.join(', ');
}

function describeSeconds(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}
