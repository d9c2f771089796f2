import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../server/config.ts';

describe('The settings', () => {
  test('have safe defaults for one machine', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 3000,
      publicUrl: 'http://127.0.0.1:3000',
      workers: 1,
      avatarBaseUrl: 'http://127.0.0.1:3000/avatars',
      avatarBucket: null,
      trustProxy: [],
      corsOrigins: '*',
      isRegistrationOpen: true,
      quotas: { rates: expect.any(Object) },
      publicRateLimit: 1200,
      metricsToken: null,
      instance: hostname(),
      logLevel: 'info',
      sessions: { idleSeconds: 30 * 86_400, absoluteSeconds: 90 * 86_400 },
    });
  });

  test('derive public URLs from the host and the port, and remove the slash at the end of configured ones', () => {
    expect(readConfig({ HOST: '::1', PORT: '8080' }).publicUrl).toBe('http://[::1]:8080');
    const config = readConfig({
      PUBLIC_URL: 'https://s.example.org/',
      CDN_URL: 'https://cdn.example.org/a/',
    });
    expect(config.publicUrl).toBe('https://s.example.org');
    expect(config.avatarBaseUrl).toBe('https://cdn.example.org/a');
  });

  test('name a bucket of AWS, or of another endpoint', () => {
    const bucket = { AVATARS_BUCKET: 'avatars' };
    expect(readConfig(bucket).avatarBucket).toEqual({ name: 'avatars', endpoint: null });
    const AVATARS_ENDPOINT = 'http://127.0.0.1:9000/';
    expect(readConfig({ ...bucket, AVATARS_ENDPOINT }).avatarBucket).toEqual({
      name: 'avatars',
      endpoint: 'http://127.0.0.1:9000',
    });
    expect(() => readConfig({ ...bucket, AVATARS_ENDPOINT: 's3.example.org' })).toThrow(
      ConfigError,
    );
  });

  test('name the backups to keep, and a folder or bucket for them', () => {
    const bucket = { BACKUPS_BUCKET: 'backups' };
    const { backups, backupLocation } = readConfig({ ...bucket, BACKUPS: 'weekly:4, daily:7' });
    expect(backups).toEqual([
      { period: 'daily', count: 7 },
      { period: 'weekly', count: 4 },
    ]);
    expect(backupLocation).toEqual({ bucket: { name: 'backups', endpoint: null } });
    expect(readConfig({}).backups).toEqual([]);
  });

  test.each([
    [{ BACKUPS: 'daily' }, 'such as daily:7,weekly:4'],
    [{ BACKUPS: 'daily:0' }, 'such as daily:7,weekly:4'],
    [{ BACKUPS: 'fortnightly:2' }, 'such as daily:7,weekly:4'],
    [{ BACKUPS: 'daily:7,daily:8' }, 'each period once'],
    [{ BACKUPS: 'daily:7', DATABASE_URL: 'postgres://h/d' }, 'pg_dump or pgBackRest'],
    [{ BACKUPS_BUCKET: 'both' }, 'must be empty with BACKUPS_BUCKET'],
    [{ BACKUPS_FOLDER: '', BACKUPS_BUCKET: 'a-b', AVATARS_BUCKET: 'a-b' }, 'not be AVATARS_BUCKET'],
  ])('reject %j', (env, requirement) => {
    expect(() => readConfig({ BACKUPS_FOLDER: '/backups', ...env })).toThrow(requirement);
  });

  test('ignore spaces in lists, and replace empty values with defaults', () => {
    const config = readConfig({
      TRUST_PROXY: ' 10.0.0.0/8 , ::1',
      CORS_ORIGINS: 'https://a.example',
      PORT: ' ',
    });
    expect(config.trustProxy).toEqual(['10.0.0.0/8', '::1']);
    expect(config.corsOrigins).toEqual(['https://a.example']);
    expect(config.port).toBe(3000);
  });

  test('allow any number of public reads with PUBLIC_RATE_LIMIT=off', () => {
    expect(readConfig({ PUBLIC_RATE_LIMIT: 'off' }).publicRateLimit).toBeNull();
  });

  test('turn off the limit of public reads with RATE_LIMITS=off, but still reject an invalid one', () => {
    const env = { RATE_LIMITS: 'off', PUBLIC_RATE_LIMIT: '10' };
    expect(readConfig(env).publicRateLimit).toBeNull();
    expect(() => readConfig({ ...env, PUBLIC_RATE_LIMIT: 'none' })).toThrow(ConfigError);
  });

  test('allow at least 1,000 spaces and 100,000 messages per account', () => {
    const { rates, maxSpaces, maxTags } = readConfig({}).quotas;
    expect(maxSpaces).toBeGreaterThanOrEqual(1_000);
    expect(maxTags).toBeGreaterThanOrEqual(maxSpaces);
    // Within some weeks.
    expect(30 * (rates?.message.perDay ?? 0)).toBeGreaterThanOrEqual(100_000);
    expect(readConfig({ RATE_LIMITS: 'off' }).quotas.rates).toBeNull();
  });

  test.each([
    ['PORT', '70000'],
    ['PORT', '80a'],
    ['PORT', '-1'],
    ['PUBLIC_URL', 'spaces.example.org'],
    ['PUBLIC_URL', 'ftp://spaces.example.org'],
    ['PUBLIC_URL', 'https://spaces.example.org/?'],
    ['PUBLIC_URL', 'https://spaces.example.org/#'],
    ['CDN_URL', 'https://cdn.example.org/?a=1'],
    ['WORKERS', '0'],
    ['TRUST_PROXY', 'true'],
    ['TRUST_PROXY', '10.0.0.0/33'],
    ['TRUST_PROXY', '10.0.0.0/8/8'],
    ['TRUST_PROXY', '0.0.0.0/0'],
    ['TRUST_PROXY', '::/0'],
    ['CORS_ORIGINS', 'https://a.example/path'],
    ['REGISTRATION', 'yes'],
    ['RATE_LIMITS', 'yes'],
    ['PUBLIC_RATE_LIMIT', '0'],
    ['PUBLIC_RATE_LIMIT', 'on'],
    ['SPACES_PER_HOUR', 'many'],
    ['MAX_SPACES', '0'],
    ['LOG_LEVEL', 'loud'],
    ['SESSION_IDLE_DAYS', 'never'],
    ['DATABASE_URL', 'mysql://localhost/spaces'],
    ['DATABASE_READ_URL', 'mysql://localhost/spaces'],
    ['DATABASE_READ_URL', 'postgres://localhost/spaces'],
    ['AVATARS_BUCKET', 'My Bucket'],
    ['AVATARS_ENDPOINT', 'https://s3.example.org'],
    ['BACKUPS', 'daily:7'],
    ['BACKUPS_BUCKET', 'My Bucket'],
    ['BACKUPS_FOLDER', './data/backups'],
  ])('reject %s=%s in one line with the name, the value and the requirement', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(ConfigError);
    expect(() => readConfig({ [name]: value })).toThrow(
      new RegExp(`^${name}=[^\\n]+ is invalid: [^\\n]+\\.$`),
    );
  });

  test('do not print the password in an invalid URL', () => {
    expect(() => readConfig({ DATABASE_URL: 'mysql://u:secret@h/d' })).toThrow(/^(?!.*secret)/);
    for (const url of ['mysql://u:secret@h/d', 'postgres://u:secret@h/d']) {
      expect(() => readConfig({ DATABASE_READ_URL: url })).toThrow(/^(?!.*secret)/);
    }
  });

  test.each([
    'postgres://u:se/cret@h/d',
    'postgres://u:se?cret@h/d',
    'postgres://u:se#cret@h/d',
    'mysql://u:se@cret@h/d',
    'mysql://h/d?user=u&password=secret&ssl=true',
  ])('do not print any part of the password in %s', (url) => {
    expect(() => readConfig({ DATABASE_URL: url })).toThrow(/^(?!.*cret)/);
  });
});
