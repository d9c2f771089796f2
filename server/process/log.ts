import type { FastifyBaseLogger } from 'fastify';
import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import { version } from '../contract.ts';
import { describeDatabase } from '../database/open.ts';

/** Opens the log: one JSON object per line on standard output, without secrets. */
export function openLog({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  return pino({
    level: logLevel,
    // `busboyOptions`: at level trace, the multipart parser logs all headers.
    redact: ['req.headers.authorization', 'busboyOptions.headers', 'err.parameters'],
  });
}

/** Logs the version and the data folder. An unexpected `database: new` reveals a mistyped DATA_DIR. */
export function logStart(config: Config, log: FastifyBaseLogger): void {
  const { dataDir, publicUrl, host, port } = config;
  const database = describeDatabase(config);
  log.info({ version, node: process.version, dataDir, database }, 'starting');
  const isUnreachable = /^http:\/\/(0\.0\.0\.0|\[::\])(?:[:/]|$)|:0$/.test(publicUrl);
  if (isUnreachable) {
    log.warn(
      { host, port, publicUrl },
      'Clients cannot reach this publicUrl, so they cannot load avatars. Set PUBLIC_URL to the URL of this server.',
    );
  }
}
