import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openapi } from '../support/openapi.ts';

const { version } = openapi.info;

test.each(['package.json', 'client/package.json', 'examples/web/package.json'])(
  '%s has the version of the contract',
  (file) => {
    expect(JSON.parse(readFileSync(file, 'utf8')).version).toBe(version);
  },
);

test('The newest release in the changelog has the version of the contract', () => {
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const [, newest] = /^## (?!Unreleased$)(.+)$/m.exec(changelog) ?? [];
  expect(newest).toBe(version);
});
