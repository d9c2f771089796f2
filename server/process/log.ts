import type { FastifyBaseLogger } from 'fastify';
import { type Logger, type LoggerOptions, pino } from 'pino';
import type { Config } from '../config.ts';
import { version } from '../contract.ts';
import { describeDatabase } from '../database/open.ts';

/** Maximum size of the lines that wait to be written. Further lines are dropped and counted. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;

/** How long a process that ends waits for its last line to be written. */
const LAST_LINE_TIMEOUT_MS = 1_000;

/**
 * Opens the log: one JSON object per line on standard output, without secrets. If a line cannot be written, for example
 * on a full disk, it is written with a later one.
 */
export function openLog({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  const output = pino.destination({ dest: 1, sync: false, maxLength: MAX_PENDING_BYTES });
  const { flushSync } = output;
  // Without a listener, the error would end the process. But first, pino would call `flushSync`, which retries forever.
  output.on('error', () => {
    output.flushSync = () => {};
  });
  output.on('write', () => {
    output.flushSync = flushSync;
  });
  const options: LoggerOptions = {
    level: logLevel,
    // `busboyOptions`: at level trace, the multipart parser logs all headers.
    redact: ['req.headers.authorization', 'busboyOptions.headers', 'err.parameters'],
  };
  const log = pino(options, output);
  let dropped = 0;
  output.on('drop', () => {
    dropped += 1;
  });
  output.on('drain', () => {
    if (dropped === 0) return;
    log.warn({ lines: dropped }, 'log lines were dropped, because they were not written in time');
    dropped = 0;
  });
  return log;
}

/**
 * Logs warnings of this process and its threads, and an error that ends it. Otherwise, Node.js would print them as plain
 * text of several lines.
 */
export function logProcessEvents(log: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => log.warn({ name }, message));
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'the process ends because of an unexpected error');
    // The log may be blocked.
    setTimeout(() => process.exit(1), LAST_LINE_TIMEOUT_MS);
    log.flush(() => process.exit(1));
  });
}

/** Logs the version and the data folder. An unexpected `database: new` reveals a mistyped DATA_DIR. */
export function logStart(config: Config, log: FastifyBaseLogger): void {
  const { dataDir, publicUrl, host, port, mail } = config;
  const database = describeDatabase(config);
  log.info({ version, node: process.version, dataDir, database }, 'starting');
  if (mail) log.info({ mail: new URL(mail.url).host, webUrl: mail.webUrl }, 'sending mail');
  else log.info('sending no mail, because MAIL_URL is not set');
  const isUnreachable = /^http:\/\/(0\.0\.0\.0|\[::\])(?:[:/]|$)|:0$/.test(publicUrl);
  if (isUnreachable) {
    log.warn(
      { host, port, publicUrl },
      'Clients cannot reach this publicUrl, so they cannot load avatars. Set PUBLIC_URL to the URL of this server.',
    );
  }
}
