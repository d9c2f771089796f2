import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { relative, resolve } from 'node:path';
import type { Action } from '../generated/counted-operations.gen.ts';
import { OperatorError, withoutPassword } from './errors.ts';

/** The settings of the service. `.env.example` and `docs/operating.md` document the variables. */
export interface Config {
  host: string;
  port: number;
  /** Base URL of this server for clients, without a trailing slash. */
  publicUrl: string;
  dataDir: string;
  /** URL of a PostgreSQL database. Null for the SQLite file in `dataDir`. */
  databaseUrl: string | null;
  /** Base URL of avatars, without a trailing slash. */
  avatarBaseUrl: string;
  /** Null for the folder `avatars` in `dataDir`. */
  avatarBucket: BucketLocation | null;
  /** Which scheduled backups are kept, with the shortest period first. Empty without a schedule. */
  backups: BackupRule[];
  /** Where scheduled backups are. Null if they are not configured. */
  backupLocation: BackupLocation | null;
  /** Number of processes that serve requests. */
  workers: number;
  /** Drain period: time after a stop signal during which requests are accepted while `/readyz` responds with 503. */
  drainSeconds: number;
  /** Addresses and CIDR blocks of proxies whose X-Forwarded-For header is trusted. */
  trustProxy: string[];
  corsOrigins: '*' | string[];
  /** Whether anyone can create an account. */
  isRegistrationOpen: boolean;
  /** Whether accounts write only once their email address is verified. */
  requiresVerifiedEmail: boolean;
  /** The name of the service, for people. */
  siteName: string;
  /** URL of the terms of use. */
  termsUrl: string | null;
  /** How people reach the operator: an email address or a URL. */
  contact: string | null;
  /** Null if the server sends no mail. */
  mail: MailSettings | null;
  quotas: Quotas;
  /** Maximum number of public reads per minute and client. Null for no limit. */
  publicRateLimit: number | null;
  /** Null if metrics are disabled. */
  metricsToken: string | null;
  /** The label `instance` of all metrics, which tells several machines apart. */
  instance: string;
  /** Base URL of an OpenTelemetry collector. Null if requests are not traced. */
  traceEndpoint: string | null;
  logLevel: (typeof LOG_LEVELS)[number];
  sessions: SessionLifetimes;
  /** Time without messages after which systemd restarts the service. Null if it does not. */
  watchdogMs: number | null;
}

export interface MailSettings {
  /** URL of the SMTP server, with its credentials. */
  url: string;
  /** Address of the sender. */
  from: string;
  /** Base URL of the front end that links lead to, without a trailing slash. */
  webUrl: string;
  /** Folder with texts that replace or translate those of the service. */
  templatesFolder: string | null;
}

/** A bucket of an S3-compatible storage. */
export interface BucketLocation {
  name: string;
  /** URL of the storage. Null for AWS. */
  endpoint: string | null;
}

/** Keeps the last backups of this number of periods that have some. */
export interface BackupRule {
  period: BackupPeriod;
  count: number;
}

/** In ascending order. */
export const BACKUP_PERIODS = ['hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const;
export type BackupPeriod = (typeof BACKUP_PERIODS)[number];

export type BackupLocation = { folder: string } | { bucket: BucketLocation };

export interface SessionLifetimes {
  /** Maximum time since the last use. */
  idleSeconds: number;
  /** Maximum time since the session was opened. */
  absoluteSeconds: number;
}

/** The limits of each account. */
export interface Quotas {
  /** Maximum numbers of actions per period. Null if rate limits are turned off. */
  rates: Readonly<Record<Action, { perHour: number; perDay: number }>> | null;
  maxSpaces: number;
  /** Current participations, including those in own spaces. */
  maxParticipations: number;
  /** Tags of all spaces that the account created. */
  maxTags: number;
  maxSessions: number;
  /** Access tokens of programs. */
  maxTokens: number;
}

export const DEFAULT_PORT = 3000;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** Maximum value of quotas and rate limits. Higher values would have no effect. */
const MAX_LIMIT = 1_000_000_000;
const SECONDS_PER_DAY = 24 * 60 * 60;

type Environment = Readonly<Record<string, string | undefined>>;

/** An invalid setting. */
export class ConfigError extends OperatorError {
  constructor(name: string, value: string, requirement: string) {
    super(`${name}=${value} is invalid: ${requirement}.`);
    this.name = 'ConfigError';
  }
}

/**
 * Reads the settings from environment variables. Unset and empty variables have their defaults.
 * @throws ConfigError
 */
export function readConfig(env: Environment): Config {
  const { text, integer, url, oneOf, list } = parsersFor(env);
  const host = text('HOST', '127.0.0.1');
  const port = integer('PORT', DEFAULT_PORT, 0, 65_535);
  const hostInUrl = host.includes(':') ? `[${host}]` : host;
  const ownUrl = `http://${hostInUrl}:${port}`;
  if (!URL.canParse(ownUrl)) {
    throw new ConfigError('HOST', host, 'must be an address or a name of this machine');
  }
  const publicUrl = url('PUBLIC_URL', ownUrl);
  const corsOrigins = list(
    'CORS_ORIGINS',
    (item) => item === '*' || (URL.canParse(item) && new URL(item).origin === item),
    'must be * or a comma-separated list of origins such as https://app.example.org',
  );
  const databaseUrl = readDatabaseUrl(env, 'DATABASE_URL');
  if (env.DATABASE_READ_URL) {
    throw new ConfigError(
      'DATABASE_READ_URL',
      withoutPassword(env.DATABASE_READ_URL),
      'searches no longer read from PostgreSQL, but from a copy of the search index in DATA_DIR; remove this setting',
    );
  }
  const hasRateLimits = oneOf('RATE_LIMITS', ['on', 'off'], 'on') === 'on';
  const publicRateLimit =
    text('PUBLIC_RATE_LIMIT', '') === 'off'
      ? null
      : integer('PUBLIC_RATE_LIMIT', 1_200, 1, MAX_LIMIT, ', or off');
  return {
    host,
    port,
    publicUrl,
    dataDir: resolve(text('DATA_DIR', './data')),
    databaseUrl,
    avatarBaseUrl: url('CDN_URL', `${publicUrl}/avatars`),
    avatarBucket: readBucket(env, 'AVATARS'),
    ...readBackupSettings(env, resolve(text('DATA_DIR', './data')), databaseUrl),
    workers: integer('WORKERS', 1, 1, 64),
    drainSeconds: integer('DRAIN_SECONDS', 1, 0, 3600),
    trustProxy: list(
      'TRUST_PROXY',
      isAddressOrCidr,
      'must be a comma-separated list of addresses or CIDR blocks such as 10.0.0.0/8; /0 is not supported',
    ),
    corsOrigins: corsOrigins.length === 0 || corsOrigins.includes('*') ? '*' : corsOrigins,
    isRegistrationOpen: oneOf('REGISTRATION', ['open', 'closed'], 'open') === 'open',
    requiresVerifiedEmail: oneOf('REQUIRE_VERIFIED_EMAIL', ['on', 'off'], 'off') === 'on',
    siteName: text('SITE_NAME', 'Spaces'),
    termsUrl: text('TERMS_URL', '') === '' ? null : url('TERMS_URL', ''),
    contact: text('CONTACT', '') || null,
    mail: readMailSettings(env),
    quotas: readQuotas(env, hasRateLimits),
    publicRateLimit: hasRateLimits ? publicRateLimit : null,
    metricsToken: text('METRICS_TOKEN', '') || null,
    instance: text('INSTANCE', hostname()),
    traceEndpoint: text('OTEL_EXPORTER_OTLP_ENDPOINT', '')
      ? url('OTEL_EXPORTER_OTLP_ENDPOINT', '')
      : null,
    logLevel: oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    sessions: {
      idleSeconds: integer('SESSION_IDLE_DAYS', 30, 1, 3650) * SECONDS_PER_DAY,
      absoluteSeconds: integer('SESSION_MAX_DAYS', 90, 1, 3650) * SECONDS_PER_DAY,
    },
    watchdogMs: integer('WATCHDOG_USEC', 0, 0, Number.MAX_SAFE_INTEGER) / 1_000 || null,
  };
}

function readDatabaseUrl(env: Environment, name: string): string | null {
  const value = parsersFor(env).text(name, '');
  if (value === '') return null;
  if (/^postgres(ql)?:$/.test(protocolOf(value))) return value;
  throw new ConfigError(
    name,
    withoutPassword(value),
    'must be empty or a URL such as postgres://user:password@db.example.org/spaces',
  );
}

function readMailSettings(env: Environment): MailSettings | null {
  const { text, url } = parsersFor(env);
  const names = ['MAIL_FROM', 'WEB_URL', 'MAIL_TEMPLATES'] as const;
  const [from, webUrl, templates] = names.map((name) => text(name, ''));
  const server = text('MAIL_URL', '');
  if (server === '') return null;
  if (!/^smtps?:$/.test(protocolOf(server)) || new URL(server).hostname === '') {
    throw new ConfigError(
      'MAIL_URL',
      withoutPassword(server),
      'must be empty or a URL such as smtps://user:password@mail.example.org',
    );
  }
  if (!/^[^\s@<>"]+@[^\s@<>"]+$/.test(from ?? '')) {
    throw new ConfigError('MAIL_FROM', from ?? '', 'must be the email address of the sender');
  }
  return {
    url: server,
    from: from ?? '',
    webUrl: url('WEB_URL', webUrl ?? ''),
    templatesFolder: templates ? resolve(templates) : null,
  };
}

function readBucket(env: Environment, prefix: 'AVATARS' | 'BACKUPS'): BucketLocation | null {
  const { text, url } = parsersFor(env);
  const [bucketName, endpointName] = [`${prefix}_BUCKET`, `${prefix}_ENDPOINT`];
  const name = text(bucketName, '');
  if (!/^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?$/.test(name)) {
    throw new ConfigError(
      bucketName,
      name,
      'must be empty or the name of a bucket: 3 to 63 lowercase letters, digits, dots and hyphens',
    );
  }
  const endpoint = text(endpointName, '');
  if (name !== '') return { name, endpoint: endpoint ? url(endpointName, '') : null };
  if (endpoint !== '') throw new ConfigError(endpointName, endpoint, `needs ${bucketName}`);
  return null;
}

function readBackupSettings(
  env: Environment,
  dataDir: string,
  databaseUrl: string | null,
): Pick<Config, 'backups' | 'backupLocation'> {
  const { text } = parsersFor(env);
  const schedule = text('BACKUPS', '');
  const folderName = text('BACKUPS_FOLDER', '');
  const bucket = readBucket(env, 'BACKUPS');
  const invalidSchedule = (requirement: string) =>
    new ConfigError('BACKUPS', schedule, requirement);
  const backups = schedule
    .split(',')
    .filter((item) => item.trim() !== '')
    .map((item): BackupRule => {
      const [, name, count] = /^ *([a-z]+):([1-9]\d{0,3}) *$/.exec(item) ?? [];
      const period = BACKUP_PERIODS.find((each) => each === name);
      if (period) return { period, count: Number(count) };
      throw invalidSchedule(
        `must be a comma-separated list of ${BACKUP_PERIODS.join(', ')}, each with the number of backups to keep, such as daily:7,weekly:4`,
      );
    })
    .sort((a, b) => BACKUP_PERIODS.indexOf(a.period) - BACKUP_PERIODS.indexOf(b.period));
  if (new Set(backups.map(({ period }) => period)).size < backups.length) {
    throw invalidSchedule('must name each period once');
  }
  if (backups.length > 0 && databaseUrl !== null) {
    throw invalidSchedule('with DATABASE_URL, use pg_dump or pgBackRest, and remove this setting');
  }
  if (backups.length > 0 && folderName === '' && bucket === null) {
    throw invalidSchedule('needs BACKUPS_FOLDER or BACKUPS_BUCKET');
  }
  if (folderName === '') {
    const avatars = readBucket(env, 'AVATARS');
    if (bucket && bucket.name === avatars?.name && bucket.endpoint === avatars.endpoint) {
      throw new ConfigError(
        'BACKUPS_BUCKET',
        bucket.name,
        'must not be AVATARS_BUCKET, whose objects a CDN can read',
      );
    }
    return { backups, backupLocation: bucket && { bucket } };
  }
  if (bucket)
    throw new ConfigError('BACKUPS_FOLDER', folderName, 'must be empty with BACKUPS_BUCKET');
  const folder = resolve(folderName);
  if (!relative(dataDir, folder).startsWith('..')) {
    throw new ConfigError('BACKUPS_FOLDER', folderName, 'must be outside of DATA_DIR');
  }
  return { backups, backupLocation: { folder } };
}

function readQuotas(env: Environment, hasRateLimits: boolean): Quotas {
  const { integer } = parsersFor(env);
  const quota = (name: string, fallback: number) => integer(name, fallback, 1, MAX_LIMIT);
  const rates = {
    space: { perHour: quota('SPACES_PER_HOUR', 100), perDay: quota('SPACES_PER_DAY', 500) },
    message: {
      perHour: quota('MESSAGES_PER_HOUR', 1_000),
      perDay: quota('MESSAGES_PER_DAY', 5_000),
    },
    change: { perHour: quota('CHANGES_PER_HOUR', 1_000), perDay: quota('CHANGES_PER_DAY', 5_000) },
  };
  return {
    rates: hasRateLimits ? rates : null,
    maxSpaces: quota('MAX_SPACES', 1_000),
    maxParticipations: quota('MAX_PARTICIPATIONS', 2_000),
    maxTags: quota('MAX_TAGS', 5_000),
    maxSessions: quota('MAX_SESSIONS', 100),
    maxTokens: quota('MAX_TOKENS', 50),
  };
}

/** Returns functions that parse one variable each. They throw a ConfigError if its value is invalid. */
function parsersFor(env: Environment) {
  const text = (name: string, fallback: string) => env[name]?.trim() || fallback;
  return {
    text,
    /** @param alternative names another accepted value in the error message */
    integer(name: string, fallback: number, min: number, max: number, alternative = ''): number {
      const value = text(name, '');
      if (value === '') return fallback;
      const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
      if (number >= min && number <= max) return number;
      throw new ConfigError(
        name,
        value,
        `must be a whole number from ${min} to ${max}${alternative}`,
      );
    },
    /** Returns a URL without a trailing slash. */
    url(name: string, fallback: string): string {
      const value = text(name, fallback);
      const parsed = URL.canParse(value) ? new URL(value) : undefined;
      // `search` and `hash` of a URL are also empty if it ends with `?` or `#`.
      if (parsed && /^https?:$/.test(parsed.protocol) && !/[?#]/.test(value)) {
        return parsed.href.replace(/\/+$/, '');
      }
      throw new ConfigError(name, value, 'must be a URL such as https://spaces.example.org');
    },
    oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
      const value = text(name, fallback);
      const match = allowed.find((each) => each === value);
      if (match) return match;
      throw new ConfigError(name, value, `must be one of ${allowed.join(', ')}`);
    },
    /** Returns the items of a comma-separated list. */
    list(name: string, isAllowed: (item: string) => boolean, requirement: string): string[] {
      const value = text(name, '');
      const items = value
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
      if (items.every(isAllowed)) return items;
      throw new ConfigError(name, value, requirement);
    },
  };
}

function protocolOf(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : '';
}

function isAddressOrCidr(text: string): boolean {
  const [address = '', prefixLength, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefixLength === undefined) return true;
  const maxLength = version === 4 ? 32 : 128;
  const length = /^\d+$/.test(prefixLength) ? Number(prefixLength) : 0;
  // Fastify rejects the length 0.
  return length > 0 && length <= maxLength;
}
