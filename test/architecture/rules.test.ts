import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseEnv } from 'node:util';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../server/config.ts';
import { contractText } from '../../server/contract.ts';
import { migrations } from '../../server/database/sqlite/migrations/index.ts';

const root = join(import.meta.dirname, '../..');

/** A source file, by its path in the repository, with what it imports: paths in the repository, or names of packages. */
interface Source {
  path: string;
  text: string;
  imports: string[];
}

const sources: Source[] = ['client', 'codegen', 'generated', 'mock', 'server', 'test']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    ),
  )
  .filter((path) => /\.[jt]s$/.test(path))
  .map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    const imports = ts
      .preProcessFile(text)
      .importedFiles.map(({ fileName }) =>
        fileName.startsWith('.') ? join(dirname(path), fileName) : fileName,
      );
    return { path, text, imports };
  });

const byPath = new Map(sources.map((source) => [source.path, source]));
const inFolder = (...folders: string[]) =>
  sources.filter(({ path }) => folders.some((folder) => path.startsWith(`${folder}/`)));
const pathsWith = (pattern: RegExp, among: Source[]) =>
  among.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

/** How a file comes to import a package that matches, through whichever files: the chain, or nothing. */
function chainTo(pattern: RegExp, from: string, seen = new Set<string>()): string[] | undefined {
  seen.add(from);
  for (const each of byPath.get(from)?.imports ?? []) {
    if (pattern.test(each)) return [from, each];
    const rest = seen.has(each) ? undefined : chainTo(pattern, each, seen);
    if (rest) return [from, ...rest];
  }
  return undefined;
}

test('There are sources to judge', () => {
  expect(inFolder('server').length).toBeGreaterThan(60);
  expect(byPath.get('server/app.ts')?.imports).toContain('fastify');
  expect(byPath.get('server/app.ts')?.imports).toContain('server/http/problems.ts');
  expect(chainTo(/^fastify$/, 'server/http/rate-limits.ts')).toBeDefined();
});

test('The environment is read in server/config.ts alone', () => {
  const readers = pathsWith(
    /process\.env|import\.meta\.env|loadEnvFile/,
    inFolder('client', 'codegen', 'generated', 'mock', 'server'),
  );
  expect(readers).toEqual(['server/config.ts']);
});

const domains = [
  'accounts',
  'auth',
  'avatars',
  'exchange',
  'messages',
  'profile',
  'rate-limits',
  'search',
  'spaces',
  'text',
  'users',
];
test.each(inFolder(...[...domains, 'database'].map((each) => `server/${each}`)))(
  '$path knows no HTTP, nor does anything that it imports',
  ({ path, text }) => {
    expect(chainTo(/^(@?fastify\b|node:http|undici)/, path)).toBeUndefined();
    expect(text).not.toMatch(/\b(HttpProblem|statusCode|statuses|FastifyRequest|FastifyReply)\b/);
  },
);

test.each(inFolder('server/handlers'))(
  '$path asks the domains, and never the database',
  ({ text, imports }) => {
    expect(
      imports.filter((each) => /^(kysely|better-sqlite3)|server\/database/.test(each)),
    ).toEqual([]);
    expect(text).not.toMatch(
      /sql`|\b(readDb|selectFrom|insertInto|updateTable|deleteFrom)\b|\.db\b/,
    );
  },
);

test('The database has a name in server/database alone', () => {
  // Its message tells the operator which database this version keeps.
  const exceptions = ['server/config.ts'];
  const others = inFolder('server').filter(({ path }) => !path.startsWith('server/database/'));
  expect(pathsWith(/sqlite|postgres|\bpg\b|\bfts5?\b|\bpragma\b/i, others)).toEqual(exceptions);
});

test('The client runs where there is no Node', () => {
  for (const { path } of inFolder('client')) {
    expect(chainTo(/^(?!client\/|generated\/)/, path)).toBeUndefined();
  }
  const readers = pathsWith(/\b(Buffer|process|require)\s*[.(]/, inFolder('client', 'generated'));
  expect(readers).toEqual([]);
});

test('The server stands on nothing that only tests, tools or clients have', () => {
  for (const { path, imports } of inFolder('server')) {
    expect(
      imports.filter((each) => /^(client|codegen|mock|test)\//.test(each)),
      path,
    ).toEqual([]);
  }
});

test('Whatever is imported from the repository is there, and generated code is TypeScript', () => {
  for (const { path, imports } of sources) {
    for (const each of imports.filter((name) =>
      /^(client|codegen|generated|mock|server|test)\//.test(name),
    )) {
      expect(existsSync(join(root, each)), `${path} imports ${each}`).toBe(true);
      if (each.startsWith('generated/')) expect(each, path).toMatch(/\.ts$/);
    }
  }
});

describe('Each tag of the contract', () => {
  const contract = parse(contractText);
  // biome-ignore lint/suspicious/noExplicitAny: operations and shared parameters of an OpenAPI document
  const operations = Object.values<any>(contract.paths).flatMap((item) =>
    Object.values<{ tags: string[]; operationId: string }>(item).filter((each) => each.operationId),
  );
  const tags: string[] = contract.tags.map(({ name }: { name: string }) => name.toLowerCase());

  test('has a file of handlers', () => {
    const files = inFolder('server/handlers').map(({ path }) => path.split('/').at(-1));
    expect(files.sort()).toEqual([...tags.map((tag) => `${tag}.ts`), 'index.ts'].sort());
  });

  test.each(tags)('has its operations there, and no others: %s', async (tag) => {
    const module = await import(`../../server/handlers/${tag}.ts`);
    expect(Object.keys(module)).toEqual([`${tag}Handlers`]);
    const ids = operations
      .filter((each) => each.tags.length === 1 && each.tags[0]?.toLowerCase() === tag)
      .map(({ operationId }) => operationId);
    expect(Object.keys(module[`${tag}Handlers`]({})).sort()).toEqual(ids.sort());
  });
});

test('Every migration is listed, in the order of its number', async () => {
  const folder = 'server/database/sqlite/migrations';
  const files = inFolder(folder)
    .map(({ path }) => relative(folder, path).replace(/\.ts$/, ''))
    .filter((name) => name !== 'index')
    .sort();
  expect(Object.keys(migrations)).toEqual(files);
  for (const [i, name] of files.entries()) {
    expect(name.startsWith(`${String(i + 1).padStart(4, '0')}-`), name).toBe(true);
    const { up } = await import(join(root, folder, `${name}.ts`));
    expect(migrations[name]?.up).toBe(up);
  }
});

// What was downloaded or built beside the sources is otherwise committed by one careless `git add`.
test.skipIf(!existsSync(join(root, '.git')))('Nothing but two pictures is binary', () => {
  const files = execFileSync('git', ['ls-files', '--eol'], { cwd: root, encoding: 'utf8' });
  const binary = files.split('\n').filter((line) => line.startsWith('i/-text'));
  expect(binary.map((line) => line.split('\t')[1])).toEqual([
    'server/avatars/default.webp',
    'server/sample/avatar.jpg',
  ]);
});

describe('Every setting', () => {
  const read = new Set<string>();
  const defaults = readConfig(
    new Proxy({} as Record<string, string>, {
      get: (_, name: string) => void read.add(name),
    }),
  );
  const example = parseEnv(readFileSync(join(root, '.env.example'), 'utf8'));

  test('is in .env.example, with its default', () => {
    expect(Object.keys(example).sort()).toEqual([...read].sort());
    expect(readConfig(example as Record<string, string>)).toEqual(defaults);
  });

  test('is in the table of the README', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const rows = readme.split('\n').filter((line) => line.startsWith('| `'));
    const named = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name]) => name),
    );
    expect(named.sort()).toEqual([...read].sort());
  });
});
