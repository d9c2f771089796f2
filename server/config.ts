import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { OperatorError } from './errors.ts';

/** The settings, from the environment. README.md tells what each is for. */
export interface Config {
  host: string;
  port: number;
  /** Where clients reach this server; without a slash at the end. */
  publicUrl: string;
  dataDir: string;
  /** What the names of pictures are appended to; without a slash at the end. */
  avatarBase: string;
  workers: number;
  /** How long the service goes on serving, `/readyz` aside, once it is told to stop. */
  drainSeconds: number;
  /** Addresses and CIDR blocks of proxies whose X-Forwarded-For is believed. */
  trustProxy: string[];
  corsOrigins: '*' | string[];
  rateLimits: boolean;
  /** Public reads per minute and address; null for no limit. */
  publicRateLimit: number | null;
  metricsToken: string | null;
  logLevel: (typeof LOG_LEVELS)[number];
  sessions: { idle: number; absolute: number };
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const DAY = 24 * 60 * 60;

/** A setting that the service cannot start with. */
export class ConfigError extends OperatorError {
  constructor(name: string, value: string, allowed: string) {
    super(`${name}=${value} is not possible: ${allowed}.`);
    this.name = 'ConfigError';
  }
}

/** @throws ConfigError */
export function configFromEnvironment(overrides: Record<string, string> = {}): Config {
  return readConfig({ ...process.env, ...overrides });
}

/** @throws ConfigError */
export function readConfig(env: Record<string, string | undefined>): Config {
  const text = (name: string, fallback: string) => env[name]?.trim() || fallback;
  const integer = (name: string, fallback: number, least: number, most: number) => {
    const value = text(name, String(fallback));
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new ConfigError(name, value, `a whole number from ${least} to ${most} is needed`);
  };
  const url = (name: string, fallback: string) => {
    const value = text(name, fallback);
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (parsed && /^https?:$/.test(parsed.protocol) && !parsed.search && !parsed.hash) {
      return parsed.href.replace(/\/+$/, '');
    }
    throw new ConfigError(name, value, 'an address such as https://spaces.example.org is needed');
  };
  const oneOf = <T extends string>(name: string, allowed: readonly T[], fallback: T) => {
    const value = text(name, fallback);
    const found = allowed.find((each) => each === value);
    if (found) return found;
    throw new ConfigError(name, value, `it is one of ${allowed.join(', ')}`);
  };
  const list = (name: string, isAllowed: (item: string) => boolean, allowed: string) => {
    const value = text(name, '');
    const items = value
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean);
    if (items.every(isAllowed)) return items;
    throw new ConfigError(name, value, allowed);
  };

  const databaseUrl = text('DATABASE_URL', '');
  if (databaseUrl !== '') {
    throw new ConfigError(
      'DATABASE_URL',
      databaseUrl.replace(/\/\/[^@/]*@/, '//***@'),
      'this version keeps its data in SQLite under DATA_DIR; leave it empty',
    );
  }

  const host = text('HOST', '127.0.0.1');
  const port = integer('PORT', 3000, 0, 65_535);
  const ownUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (!URL.canParse(ownUrl)) {
    throw new ConfigError('HOST', host, 'an address or a name of this machine is needed');
  }
  const publicUrl = url('PUBLIC_URL', ownUrl);
  const corsOrigins = list(
    'CORS_ORIGINS',
    (item) => item === '*' || (URL.canParse(item) && new URL(item).origin === item),
    'it is * or a list of origins such as https://app.example.org, with commas between',
  );
  return {
    host,
    port,
    publicUrl,
    dataDir: resolve(text('DATA_DIR', './data')),
    avatarBase: url('CDN_URL', `${publicUrl}/avatars`),
    workers: integer('WORKERS', 1, 1, 64),
    drainSeconds: integer('DRAIN_SECONDS', 1, 0, 3600),
    trustProxy: list(
      'TRUST_PROXY',
      isAddressBlock,
      'it is a list of addresses or CIDR blocks such as 10.0.0.0/8, with commas between',
    ),
    corsOrigins: corsOrigins.length === 0 || corsOrigins.includes('*') ? '*' : corsOrigins,
    rateLimits: oneOf('RATE_LIMITS', ['on', 'off'], 'on') === 'on',
    publicRateLimit: text('PUBLIC_RATE_LIMIT', '')
      ? integer('PUBLIC_RATE_LIMIT', 0, 1, 1_000_000)
      : null,
    metricsToken: text('METRICS_TOKEN', '') || null,
    logLevel: oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    sessions: {
      idle: integer('SESSION_IDLE_DAYS', 30, 1, 3650) * DAY,
      absolute: integer('SESSION_MAX_DAYS', 90, 1, 3650) * DAY,
    },
  };
}

function isAddressBlock(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return (
    most > 0 &&
    rest.length === 0 &&
    (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= most))
  );
}
