import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './generator.ts';
import { generators, shortSet } from './generators.ts';
import { downloadCommand } from './openapi-generator.ts';

const page = readFileSync(join(root, 'docs/clients.md'), 'utf8');
const lines = page.split('\n');
const rows = lines.filter((line) => /^\| \[/.test(line));

test.each(Object.entries(generators))(
  'docs/clients.md has the version and command of %s',
  (name, { version, command }) => {
    const title = name.replace(/^openapi-generator-/, 'OpenAPI Generator: ');
    const row = rows.find((line) => line.startsWith(`| [${title}](#`));
    expect(row?.split('|')[2]?.trim()).toBe(version);
    const section = page.split(`\n### ${title}\n`)[1]?.split('\n#')[0]?.split('\n');
    expect(section).toContain(command);
  },
);

test('docs/clients.md lists no other generators', () => {
  expect(rows.length).toBe(Object.keys(generators).length);
});

test('docs/clients.md downloads OpenAPI Generator like npm run clients', () => {
  expect(lines).toContain(downloadCommand);
});

test('the short set contains only existing generators', () => {
  for (const name of shortSet) expect(generators).toHaveProperty(name);
});
