import { describe, expect, test } from 'vitest';
import { importChain, sourcesIn } from './sources.ts';

/**
 * The layers of server/, from top to bottom. Each name is a folder or a file of server/.
 *
 * A layer may import from the layers below it. Names in one layer must not import from each other.
 */
const layers = [
  // Programs.
  ['cli.ts', 'main.ts'],
  ['commands'],
  ['command-line', 'process'],
  // HTTP: translates between requests and domain functions.
  ['app.ts'],
  ['handlers'],
  ['http'],
  // The resources that a process opens once.
  ['context.ts'],
  ['housekeeping.ts', 'mailer.ts', 'metrics', 'tasks.ts'],
  // Domains: plain functions without HTTP.
  ['sample'],
  ['backups', 'import-export', 'reports'],
  ['account-lifecycle', 'profile'],
  ['blocks', 'messages'],
  ['spaces'],
  ['message-words', 'search', 'tokens', 'users'],
  ['resources.ts'],
  ['auth', 'avatars', 'mail', 'rate-limits'],
  ['accounts'],
  // Storage, and the splitting of text into indexed words.
  ['database'],
  ['text'],
  ['storage'],
  // Used by everything.
  ['config.ts', 'contract.ts', 'pagination.ts', 'system'],
  ['errors.ts'],
];

const serverSources = sourcesIn('server');

/** The folder or file of server/ that a path belongs to: `http` for server/http/problems.ts. */
function unitOf(path: string): string {
  return path.split('/')[1] as string;
}

function layerOf(path: string): number {
  return layers.findIndex((units) => units.includes(unitOf(path)));
}

describe('The layers of server/', () => {
  test('include every folder and file exactly once', () => {
    const units = new Set(serverSources.map(({ path }) => unitOf(path)));
    expect(layers.flat().sort()).toEqual([...units].sort());
  });

  test('import only from layers below, which rules out circular dependencies', () => {
    const violations = serverSources.flatMap(({ path, imports }) =>
      imports
        .filter((imported) => imported.startsWith('server/') && unitOf(imported) !== unitOf(path))
        .filter((imported) => layerOf(imported) <= layerOf(path))
        .map((imported) => `${path} imports ${imported}`),
    );
    expect(violations).toEqual([]);
  });
});

test('no file imports itself indirectly', () => {
  const files = sourcesIn('client', 'codegen', 'mock', 'server', 'test', 'verification');
  // Threads and processes are started with their entry module, which is not imported.
  const entryModules = files
    .map(({ path }) => path)
    .filter((path) => /-(entry|thread)\.ts$/.test(path));
  const circles = files
    .filter(({ path }) => !entryModules.includes(path))
    .flatMap(({ path }) => importChain(new RegExp(`^${path}$`), path, new Set(entryModules)) ?? []);
  expect(circles).toEqual([]);
});
