import { type Logger, pino } from 'pino';
import type { Config } from './config.ts';

/** The service's log: one JSON object a line on standard output, without anybody's secrets. */
export function openLog({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  return pino({
    level: logLevel,
    redact: ['req.headers.authorization', 'err.parameters', '*.password', '*.token'],
  });
}
