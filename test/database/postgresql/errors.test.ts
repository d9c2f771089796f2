import { expect, test } from 'vitest';
import { isUnavailable } from '../../../server/database/postgresql/errors.ts';

const failure = (properties: object) => Object.assign(new Error('failed on purpose'), properties);

test.each([
  ['a refused connection', { code: 'ECONNREFUSED' }],
  ['a TLS handshake that times out', { code: 'ERR_TLS_HANDSHAKE_TIMEOUT' }],
  ['a server that is shutting down', { code: '57P01' }],
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
