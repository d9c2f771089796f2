import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { spaceOf } from '../data.ts';
import { cacheFolder, chunksOf, progress } from '../database.ts';

/** Search engines in Rust. Each is a separate program that reads and writes newline-delimited JSON. */
export const ENGINES = ['tantivy', 'milli'] as const;
export type EngineName = (typeof ENGINES)[number];

/** The output folder of Cargo, set in `.cargo/config.toml`. */
const PROGRAMS = fileURLToPath(
  new URL('../../../../node_modules/.cache/space-service-references/release/', import.meta.url),
);

function programOf(name: EngineName): string {
  return join(PROGRAMS, `${name}-reference`);
}

export function isBuilt(name: EngineName): boolean {
  return existsSync(programOf(name));
}

/** Reads the version of the engine's library. */
export async function versionOf(name: EngineName): Promise<string> {
  const manifest = await readFile(new URL(`${name}/Cargo.toml`, import.meta.url), 'utf8');
  const [, version] = /^(?:tantivy|milli-core) = .*?"=([\d.]+)"/m.exec(manifest) ?? [];
  return version ?? 'unknown';
}

/** Builds the programs with Cargo. Prints a warning if a build fails or Cargo is not installed. */
export async function buildEngines(): Promise<void> {
  for (const name of ENGINES) {
    console.log(`  building ${name}-reference; the first time takes up to 20 minutes`);
    const cwd = fileURLToPath(new URL(name, import.meta.url));
    const child = spawn('cargo', ['build', '--release', '--locked', '--quiet'], {
      cwd,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const error = await once(child, 'exit').then(
      ([code]) => (code === 0 ? undefined : `cargo ended with ${code}`),
      (error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? 'Cargo is not installed, see https://rustup.rs' : error.message,
    );
    if (error) console.warn(`  ${name}-reference was not built: ${error}.`);
  }
}

/** A running search engine with an index of the benchmark's spaces. */
export interface SearchEngine extends AsyncDisposable {
  /** Returns the number of ids found, and the milliseconds that the engine itself needed to find them. */
  search(query: string, options?: object): Promise<{ ms: number; found: number }>;
}

/**
 * Starts an engine with its index. Builds the index the first time and keeps it between runs.
 * @param rules for milli, the ranking rules
 */
export async function startEngine(
  name: EngineName,
  spaces: number,
  ...rules: string[]
): Promise<SearchEngine> {
  const folder = await buildIndex(name, spaces);
  const child = run(name, 'search', folder, ...rules);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async search(query, options) {
      child.stdin.write(`${JSON.stringify({ query, ...options })}\n`);
      const { value } = await lines.next();
      if (value === undefined) throw new Error(`${name}-reference ended early.`);
      const { ids, ms } = JSON.parse(value) as { ids: unknown[]; ms: number };
      return { ms, found: ids.length };
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended(name, child);
    },
  };
}

async function buildIndex(name: EngineName, spaces: number): Promise<string> {
  const folder = join(await cacheFolder(), `${name}-${spaces}`);
  const isCurrent =
    existsSync(folder) && (await stat(folder)).mtimeMs > (await stat(programOf(name))).mtimeMs;
  if (isCurrent) return folder;
  const unfinished = `${folder}.unfinished`;
  for (const old of [folder, unfinished]) await rm(old, { recursive: true, force: true });
  const before = performance.now();
  const child = run(name, 'index', unfinished);
  const exited = once(child, 'exit');
  for (const chunk of chunksOf(rowsOf(spaces), 1_000)) {
    if (!child.stdin.write(chunk.join(''))) {
      // `once` rejects with EPIPE if the program has ended. `ended` reports its exit code instead.
      const drained = once(child.stdin, 'drain').catch(() => exited);
      await Promise.race([drained, exited]);
    }
    if (hasEnded(child)) break;
  }
  child.stdin.end();
  progress(`  ${name}: building the index`);
  await exited;
  await ended(name, child);
  progress('');
  await rename(unfinished, folder);
  const seconds = Math.round((performance.now() - before) / 1000);
  console.log(`  ${name} indexed ${spaces.toLocaleString('en')} spaces in ${seconds} s`);
  return folder;
}

function* rowsOf(spaces: number): Generator<string> {
  for (let id = 0; id < spaces; id += 1) {
    const { title, description, participants } = spaceOf(id);
    const popularity = participants.length + 1;
    yield `${JSON.stringify({ id, title, description, popularity })}\n`;
  }
}

function run(name: EngineName, ...command: string[]) {
  const child = spawn(programOf(name), command, { stdio: ['pipe', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill());
  // A write after the program has exited is not an error here. The exit code is checked instead.
  child.stdin.on('error', () => {});
  return child;
}

async function ended(name: EngineName, child: ChildProcess): Promise<void> {
  if (!hasEnded(child)) await once(child, 'exit');
  if (child.exitCode === 0) return;
  throw new Error(`${name}-reference ended with ${child.exitCode ?? child.signalCode}.`);
}

/** Returns whether a program has exited, or a signal has ended it. */
function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
