import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';

/** The service's log: one JSON object a line on standard output, without anybody's secrets. */
export function openLog({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  return pino({
    level: logLevel,
    // At trace, the parser of forms writes down all headers.
    redact: ['req.headers.authorization', 'busboyOptions.headers', 'err.parameters'],
  });
}
