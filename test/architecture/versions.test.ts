import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { contractText } from '../../server/contract.ts';

const { version } = parse(contractText).info;

test.each(['package.json', 'client/package.json', 'examples/web/package.json'])(
  '%s has the version of the contract',
  (file) => {
    expect(JSON.parse(readFileSync(file, 'utf8')).version).toBe(version);
  },
);

test('The changelog begins with the version of the contract', () => {
  const [, newest] = /^## (.+)$/m.exec(readFileSync('CHANGELOG.md', 'utf8')) ?? [];
  expect(newest).toBe(version);
});
