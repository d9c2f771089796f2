import { type Logger, pino } from 'pino';

/** Returns a log, and the array to which it adds each line at or above `level`. */
export function recordLog<Line = Record<string, unknown>>(
  level = 'info',
): { log: Logger; lines: Line[] } {
  const lines: Line[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  return { log: pino({ level }, { write }), lines };
}
