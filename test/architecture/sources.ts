import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

export const root = join(import.meta.dirname, '../..');

export interface Source {
  /** Relative to the root of the repository. */
  path: string;
  text: string;
  /** Paths relative to the root of the repository, and names of packages. Entry modules of threads are included. */
  imports: string[];
}

/** All TypeScript and JavaScript files of the repository. */
export const sources: Source[] = [
  'client',
  'codegen',
  'examples/web/src',
  'generated',
  'mock',
  'server',
  'test',
  'verification',
]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    ),
  )
  .filter((path) => /\.[jt]sx?$/.test(path))
  // Uses a client that exists only while `npm run clients` checks it.
  .filter((path) => !/^test\/trials\/generators\/[^/]+\/journey\.ts$/.test(path))
  .map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    return { path, text, imports: importsOf(path, text) };
  });

const byPath = new Map(sources.map((source) => [source.path, source]));

export function sourceAt(path: string): Source | undefined {
  return byPath.get(path);
}

export function sourcesIn(...folders: string[]): Source[] {
  return sources.filter(({ path }) => folders.some((folder) => path.startsWith(`${folder}/`)));
}

/** Returns the paths of the sources whose code matches. Ignores comments. */
export function pathsMatching(pattern: RegExp, candidates: Source[]): string[] {
  return candidates
    .filter(({ text }) => pattern.test(text) && pattern.test(withoutComments(text)))
    .map(({ path }) => path);
}

/** Returns a chain of imports from a file to a matching import, or undefined if there is none. */
export function importChain(
  pattern: RegExp,
  from: string,
  visited = new Set<string>(),
): string[] | undefined {
  visited.add(from);
  for (const each of sourceAt(from)?.imports ?? []) {
    if (pattern.test(each)) return [from, each];
    const rest = visited.has(each) ? undefined : importChain(pattern, each, visited);
    if (rest) return [from, ...rest];
  }
  return undefined;
}

function withoutComments(text: string): string {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { target: ts.ScriptTarget.ESNext, removeComments: true },
  });
  return outputText;
}

function importsOf(path: string, text: string): string[] {
  const imported = ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);
  // Threads are started with the URL of their entry module.
  const entryModules = text.matchAll(/new URL\('(\.[^']+\.[jt]s)', import\.meta\.url\)/g);
  const names = imported.concat(Array.from(entryModules, ([, name]) => name as string));
  return names.map((name) => (name.startsWith('.') ? join(dirname(path), name) : name));
}
