import { expect, test } from 'vitest';
import { explainFailure, isUnavailable } from '../../../server/database/postgresql/errors.ts';
import { OperatorError, TemporaryError } from '../../../server/errors.ts';

const failure = (properties: object) => Object.assign(new Error('failed on purpose'), properties);

test.each([
  ['a refused connection', { code: 'ECONNREFUSED' }],
  ['a TLS handshake that times out', { code: 'ERR_TLS_HANDSHAKE_TIMEOUT' }],
  ['a server that is shutting down', { code: '57P01' }],
  [
    'a TLS handshake with another protocol version',
    { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' },
  ],
  ['a rejected TLS handshake', { code: 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE' }],
  ['a transaction that takes longer than transaction_timeout', { code: '25P04' }],
  ['an expired certificate', { code: 'CERT_HAS_EXPIRED' }],
  ['a certificate of an unknown issuer', { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }],
])('The database is unavailable after %s', (_, properties) => {
  expect(isUnavailable(failure(properties))).toBe(true);
});

test.each([
  ['a file that may not be read', { code: 'EACCES', path: '/avatars/a.webp' }],
  ['a full disk of this machine', { code: 'ENOSPC' }],
  ['a programming error', { code: 'ERR_INVALID_ARG_TYPE' }],
  ['a duplicate key', { code: '23505' }],
])('The database is not unavailable because of %s', (_, properties) => {
  expect(isUnavailable(failure(properties))).toBe(false);
});

test('The explanation of a timeout does not claim that the server cannot be reached', () => {
  const explained = explainFailure(failure({ code: '55P03' }), 'postgres://db.example.org/spaces');
  expect((explained as Error).message).toBe(
    'The PostgreSQL server of DATABASE_URL=postgres://db.example.org/spaces did not finish a statement in time. Try again later.',
  );
});

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', /cannot be verified\. Set sslrootcert in DATABASE_URL /],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /cannot be verified\. Set sslrootcert in DATABASE_URL /],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /another host name\. Use that name in DATABASE_URL/],
  ['CERT_HAS_EXPIRED', /has expired or is not valid yet\. Replace the certificate\.$/],
])('The operator must fix a certificate that fails with %s', (code, message) => {
  const explained = explainFailure(failure({ code }), 'postgres://db.example.org/spaces');
  expect(explained).toBeInstanceOf(OperatorError);
  expect(explained).not.toBeInstanceOf(TemporaryError);
  expect((explained as Error).message).toMatch(message);
});

const URL_WITH_PASSWORD = 'postgres://user:secret@db.example.org/spaces';
const SERVER = 'The PostgreSQL server of DATABASE_URL=postgres://***@db.example.org/spaces';

// Messages of PostgreSQL 18 and PgBouncer 1.18.
test.each([
  [
    '28P01',
    'password authentication failed for user "user"',
    'rejects the user name or the password.',
  ],
  ['08P01', 'SASL authentication failed', 'rejects the user name or the password.'],
  [
    '28000',
    'no pg_hba.conf entry for host "192.0.2.1", user "user", database "spaces", no encryption',
    'does not allow this user to connect without TLS. Add sslmode to DATABASE_URL, or change pg_hba.conf.',
  ],
  [
    '28000',
    'role "user" is not permitted to log in',
    'does not allow this user to connect. Check the user name and pg_hba.conf.',
  ],
  [
    '08P01',
    'no such database: spaces',
    'has no such database. Check its name, or create it, for example with createdb.',
  ],
  [
    '42501',
    'permission denied for table kysely_migration',
    "denies the user a privilege that the service needs. Make the user the owner of the service's tables.",
  ],
  [
    '42501',
    'permission denied to create temporary tables in database "spaces"',
    'does not allow this user to create temporary tables. Run GRANT TEMPORARY ON DATABASE.',
  ],
  ['42704', 'unrecognized configuration parameter "x"', 'reports an error.'],
])('The operator must fix the error %s: %s', (code, report, explanation) => {
  const error = Object.assign(new Error(report), { code, severity: 'FATAL' });
  const explained = explainFailure(error, URL_WITH_PASSWORD);
  expect(explained).toBeInstanceOf(OperatorError);
  expect(explained).not.toBeInstanceOf(TemporaryError);
  expect((explained as Error).message).toBe(`${SERVER} ${explanation} (PostgreSQL: ${report})`);
});

test('A server that cannot open a connection because its disk is full is temporarily unavailable', () => {
  const report = 'could not write init file';
  const error = Object.assign(new Error(report), { code: 'XX000', severity: 'FATAL' });
  const explained = explainFailure(error, URL_WITH_PASSWORD);
  expect(explained).toBeInstanceOf(TemporaryError);
  expect((explained as Error).message).toBe(
    `${SERVER} has an internal error. Check its log and its disk. (PostgreSQL: ${report})`,
  );
});

test('The operator must fix a failed TLS handshake', () => {
  const explained = explainFailure(failure({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }), 'postgres:');
  expect((explained as Error).message).toMatch(/ does not agree on TLS with this machine\. /);
  expect(explained).not.toBeInstanceOf(TemporaryError);
});

test('An error about a file that the URL does not name stays unchanged', () => {
  const error = failure({ code: 'ENOENT', path: '/avatars/a.webp' });
  expect(explainFailure(error, `${URL_WITH_PASSWORD}?sslrootcert=/root.pem`)).toBe(error);
});
