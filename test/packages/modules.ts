import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { expect } from 'vitest';

/**
 * Returns what compiled modules import, directly or through each other, including the entry modules of threads.
 * Fails if an imported file is missing.
 * @param entries paths relative to the folder
 */
export async function importsIn(
  folder: string,
  entries: readonly string[],
): Promise<{ modules: string[]; packages: string[] }> {
  const modules = new Set(entries);
  const packages = new Set<string>();
  // A set also iterates over the elements that are added meanwhile.
  for (const path of modules) {
    const code = await readFile(join(folder, path), 'utf8');
    const entryModules = [...code.matchAll(/new URL\('(\.[^']+\.[jt]s)', import\.meta\.url\)/g)];
    const names = [
      ...ts.preProcessFile(code).importedFiles.map(({ fileName }) => fileName),
      ...entryModules.map(([, name]) => name as string),
    ];
    for (const name of names) {
      if (name.startsWith('.')) {
        const imported = join(dirname(path), name);
        expect(existsSync(join(folder, imported)), `${path} imports ${imported}`).toBe(true);
        modules.add(imported);
      } else if (!name.startsWith('node:')) {
        packages.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
      }
    }
  }
  return { modules: [...modules].sort(), packages: [...packages].sort() };
}
