import { expect, test } from 'vitest';
import { explainFailure } from '../../server/database/sqlite/errors.ts';
import { OperatorError, TemporaryError } from '../../server/errors.ts';

test.each([
  ['SQLITE_FULL', true],
  ['SQLITE_IOERR_SHMSIZE', true],
  ['SQLITE_IOERR_WRITE', false],
  ['SQLITE_CORRUPT', false],
])('%s is explained to the operator, and may disappear by itself: %s', (code, isTemporary) => {
  const explained = explainFailure(Object.assign(new Error('failed'), { code }), 'data.sqlite');
  expect(explained).toBeInstanceOf(OperatorError);
  expect((explained as Error).message).toMatch(/^data\.sqlite [^\n]+\.$/);
  expect(explained instanceof TemporaryError).toBe(isTemporary);
});
