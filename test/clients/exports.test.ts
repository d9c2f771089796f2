import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

test('no export of the package hides a type of the contract', async () => {
  const types = await readFile('generated/types.gen.ts', 'utf8');
  const contract = Array.from(types.matchAll(/^export type (\w+)/gm), ([, name]) => name);
  expect(contract).toContain('SpaceUpdate');
  const index = await readFile('client/index.ts', 'utf8');
  const named = Array.from(index.matchAll(/^export (?:type )?\{([^}]*)\}/gm), ([, names]) => names);
  const exported = named.join().match(/\w+/g) ?? [];
  expect(exported).toContain('SpaceEvents');
  expect(exported.filter((name) => contract.includes(name))).toEqual([]);
});
