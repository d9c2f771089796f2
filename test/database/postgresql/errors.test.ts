import { expect, test } from 'vitest';
import { explainFailure, isUnavailable } from '../../../server/database/postgresql/errors.ts';
import { OperatorError, TemporaryError } from '../../../server/errors.ts';

const failure = (properties: object) => Object.assign(new Error('failed on purpose'), properties);

test.each([
  ['a refused connection', { code: 'ECONNREFUSED' }],
  ['a TLS handshake that times out', { code: 'ERR_TLS_HANDSHAKE_TIMEOUT' }],
  ['a server that is shutting down', { code: '57P01' }],
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
