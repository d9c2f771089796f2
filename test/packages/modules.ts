import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { expect } from 'vitest';

/**
 * Returns the modules that Node.js parses before it runs the first one: the entry and its static imports, directly or
 * through each other.
 * @param entry path relative to the folder
 */
export async function staticModulesOf(folder: string, entry: string): Promise<string[]> {
  const modules = new Set([entry]);
  for (const path of modules) {
    // The name of a package.
    if (!path.endsWith('.js')) continue;
    const code = await readFile(join(folder, path), 'utf8');
    const { statements } = ts.createSourceFile(path, code, ts.ScriptTarget.Latest);
    for (const statement of statements) {
      if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue;
      const name = statement.moduleSpecifier;
      if (name === undefined || !ts.isStringLiteral(name) || name.text.startsWith('node:'))
        continue;
      modules.add(name.text.startsWith('.') ? join(dirname(path), name.text) : name.text);
    }
  }
  return [...modules];
}

/** Returns whether a compiled module has only the syntax of ES2022, which Node.js 18 can parse. */
export async function isParsedByOldNode(file: string): Promise<boolean> {
  const code = await readFile(file, 'utf8');
  const compile = (target: ts.ScriptTarget) =>
    ts.transpileModule(code, { compilerOptions: { target, module: ts.ModuleKind.ESNext } })
      .outputText;
  return compile(ts.ScriptTarget.ES2022) === compile(ts.ScriptTarget.ESNext);
}

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
    for (const name of names.filter((each) => !each.startsWith('node:'))) {
      if (name.startsWith('.')) {
        const imported = join(dirname(path), name);
        expect(existsSync(join(folder, imported)), `${path} imports ${imported}`).toBe(true);
        modules.add(imported);
        // TypeScript also finds other parts of minified code.
      } else if (/^[@#]?[\w./-]+$/.test(name)) {
        packages.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
      }
    }
  }
  return { modules: [...modules].sort(), packages: [...packages].sort() };
}
