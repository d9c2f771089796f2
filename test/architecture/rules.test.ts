import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { COUNTED_OPERATIONS } from '../../generated/counted-operations.gen.ts';
import { readConfig } from '../../server/config.ts';
import { operations } from '../../server/contract.ts';
import { migrations as postgresqlMigrations } from '../../server/database/postgresql/migrations/index.ts';
import { migrations as sqliteMigrations } from '../../server/database/sqlite/migrations/index.ts';
import { openapi } from '../support/openapi.ts';
import { importChain, pathsMatching, root, sourceAt, sources, sourcesIn } from './sources.ts';

test('The source scanner finds the files of the repository and their imports', () => {
  expect(sourcesIn('server').length).toBeGreaterThan(60);
  expect(sourceAt('server/app.ts')?.imports).toContain('fastify');
  expect(sourceAt('server/app.ts')?.imports).toContain('server/http/error-handler.ts');
  expect(sourceAt('server/process/startup-responder.ts')?.imports).toContain(
    'server/process/startup-responder-thread.ts',
  );
  expect(importChain(/^fastify$/, 'server/http/rate-limits.ts')).toBeDefined();
});

test('Only server/main.ts reads the environment, and passes it to commands', () => {
  const readers = pathsMatching(
    /process\.env|import\.meta\.env|loadEnvFile/,
    sourcesIn('client', 'codegen', 'generated', 'mock', 'server', 'verification'),
  );
  expect(readers).toEqual(['server/main.ts']);
});

const domains = [
  'account-lifecycle',
  'accounts',
  'auth',
  'avatars',
  'backups',
  'blocks',
  'import-export',
  'mail',
  'message-words',
  'messages',
  'profile',
  'rate-limits',
  'reports',
  'search',
  'spaces',
  'text',
  'tokens',
  'users',
];
const foldersBelowHttp = [...domains, 'database'].map((name) => `server/${name}`);
const sourcesBelowHttp = sourcesIn(...foldersBelowHttp);
const otherSources = sourcesIn('server').filter((each) => !sourcesBelowHttp.includes(each));

test.each(sourcesBelowHttp)('$path does not depend on HTTP', ({ path, text }) => {
  expect(importChain(/^(@?fastify\b|node:http|undici)/, path)).toBeUndefined();
  expect(text).not.toMatch(
    /\b(HttpProblem|statusCode|PROBLEM_STATUSES|FastifyRequest|FastifyReply)\b/,
  );
});

test.each(sourcesIn('server/handlers'))('$path does not use the database', ({ text, imports }) => {
  expect(imports.filter((each) => each.startsWith('server/database/'))).toEqual([]);
  expect(text).not.toMatch(/\.db\b/);
});

test.each(otherSources)('$path contains no queries', ({ text, imports }) => {
  expect(imports.filter((each) => /^(kysely|better-sqlite3)/.test(each))).toEqual([]);
  expect(text).not.toMatch(/sql`|\b(selectFrom|insertInto|updateTable|deleteFrom|executeQuery)\b/);
});

test('Only server/database/ names a database product', () => {
  // The error message for an invalid DATABASE_URL names the supported database.
  const exceptions = ['server/config.ts'];
  const others = sourcesIn('server').filter(({ path }) => !path.startsWith('server/database/'));
  expect(pathsMatching(/sqlite|postgres|\bpg\b|\bfts5?\b|\bpragma\b/i, others)).toEqual(exceptions);
});

// It is large, and most services store avatars in a folder.
test('The AWS SDK is loaded only by the bucket stores, which are loaded on demand', () => {
  const server = sourcesIn('server');
  const users = server.filter(({ imports }) =>
    imports.some((each) => /^@(aws-sdk|smithy)\//.test(each)),
  );
  expect(users.map(({ path }) => path)).toEqual(['server/storage/bucket.ts']);
  expect(pathsMatching(/from '[^']*\/bucket\.ts'/, server)).toEqual([
    'server/avatars/bucket-store.ts',
    'server/backups/bucket-store.ts',
  ]);
  expect(pathsMatching(/from '[^']*\/bucket-store\.ts'/, server)).toEqual([]);
  expect(pathsMatching(/await import\('[^']*\/bucket-store\.ts'\)/, server)).toEqual([
    'server/avatars/open.ts',
    'server/backups/open.ts',
  ]);
});

test('OpenTelemetry is loaded only if requests are traced', () => {
  const server = sourcesIn('server');
  const users = server.filter(({ imports }) =>
    imports.some((each) => /otel|^@opentelemetry/.test(each)),
  );
  expect(users.map(({ path }) => path)).toEqual(['server/http/otlp-spans.ts']);
  expect(pathsMatching(/from '[^']*\/otlp-spans\.ts'/, server)).toEqual([]);
  expect(pathsMatching(/await import\('[^']*\/otlp-spans\.ts'\)/, server)).toEqual([
    'server/http/tracing.ts',
  ]);
});

test('The client does not depend on Node.js', () => {
  const others = /^(?!client\/|generated\/|msw$|react$|@tanstack\/react-query$)/;
  for (const { path } of sourcesIn('client')) {
    expect(importChain(others, path)).toBeUndefined();
  }
  // The optional packages belong to further entry points.
  expect(importChain(/^(?!client\/|generated\/)/, 'client/index.ts')).toBeUndefined();
  const users = pathsMatching(
    /\b(Buffer|process|require)\s*[.(]/,
    sourcesIn('client', 'generated'),
  );
  expect(users).toEqual([]);
});

// So that a copy of its folder works without the repository.
test('The example web page uses only published packages', () => {
  const packages =
    /^(react|react-dom(\/client)?|@tanstack\/react-query|space-service(\/tanstack-react-query)?)$/;
  const others = sourcesIn('examples/web/src').flatMap(({ imports }) =>
    imports.filter((each) => !each.startsWith('examples/web/src/') && !packages.test(each)),
  );
  expect(sourcesIn('examples/web/src').length).toBeGreaterThan(10);
  expect(others).toEqual([]);
});

// It checks any implementation, and can be packaged without the server and its dependencies.
test('The contract check does not depend on the server, its packages and its tests', () => {
  const others =
    /^(?!verification\/|server\/contract\.ts$|generated\/(?!fastify)|client\/(api-)?errors\.ts$|node:|(dredd|ajv|ajv-formats)(\/|$))/;
  expect(sourcesIn('verification').length).toBeGreaterThan(5);
  for (const { path } of sourcesIn('verification')) {
    expect(importChain(others, path)).toBeUndefined();
  }
});

// Otherwise, the package of the mock server would need the packages of the server.
test('The mock server does not depend on the database, except in its stateful mode', () => {
  const others = /^(server\/(database|context|app)\b|kysely|better-sqlite3|sharp|@node-rs\/)/;
  const paths = sourcesIn('mock').map(({ path }) => path);
  const dependents = paths.filter((path) => importChain(others, path));
  expect(dependents).toEqual(['mock/stateful.ts']);
});

test('The server does not import tests, tools or clients', () => {
  for (const { path, imports } of sourcesIn('server')) {
    expect(
      imports.filter((each) => /^(client|codegen|examples|mock|test|verification)\//.test(each)),
      path,
    ).toEqual([]);
  }
});

test('Every imported file exists, and imports of generated code end in .ts', () => {
  for (const { path, imports } of sources) {
    for (const each of imports.filter((name) =>
      /^(client|codegen|examples|generated|mock|server|test|verification)\//.test(name),
    )) {
      expect(existsSync(join(root, each)), `${path} imports ${each}`).toBe(true);
      if (each.startsWith('generated/')) expect(each, path).toMatch(/\.ts$/);
    }
  }
});

describe('Each tag of the contract', () => {
  const tags: string[] = openapi.tags.map(({ name }: { name: string }) => name.toLowerCase());

  test('has a file in server/handlers/', () => {
    const files = sourcesIn('server/handlers').map(({ path }) => path.split('/').at(-1));
    expect(files.sort()).toEqual([...tags.map((tag) => `${tag}.ts`), 'index.ts'].sort());
  });

  test.each(tags)('%s has handlers for exactly its operations', async (tag) => {
    const module = await import(`../../server/handlers/${tag}.ts`);
    expect(Object.keys(module)).toEqual([`${tag}Handlers`]);
    const ids = operations.flatMap((each) => (each.tag === tag ? each.operationId : []));
    expect(Object.keys(module[`${tag}Handlers`]({})).sort()).toEqual(ids.sort());
  });
});

test.each(Object.keys(COUNTED_OPERATIONS))(
  'Exactly one domain function counts %s against a quota',
  (operation) => {
    const counting = new RegExp(`countOperation\\([^)]*'${operation}'`, 'g');
    const calls = sourcesBelowHttp.flatMap(({ text }) => text.match(counting) ?? []);
    expect(calls).toHaveLength(1);
  },
);

test('Migrations do not depend on code that changes', () => {
  for (const { path, imports } of sourcesIn('server/database')) {
    if (!/\/migrations\/\d/.test(path)) continue;
    // Recomputed keys are always the current ones, because a later migration would recompute them again.
    const recomputes = /-username-(keys|skeletons)\.ts$/.test(path);
    const allowed = recomputes
      ? ['server/database/recompute-usernames.ts']
      : ['kysely', 'node:crypto'];
    expect(
      imports.filter((each) => !allowed.includes(each)),
      path,
    ).toEqual([]);
  }
});

test.each([
  { kind: 'sqlite', migrations: sqliteMigrations },
  { kind: 'postgresql', migrations: postgresqlMigrations },
])('Each migration of $kind has its own number', ({ migrations }) => {
  const numbers = Object.keys(migrations).map((name) => name.slice(0, 4));
  expect(numbers).toEqual([...new Set(numbers)].sort());
  expect(Object.values(migrations).filter(({ up }) => typeof up !== 'function')).toEqual([]);
});

// Package managers choose the registry, which can be a mirror.
test.skipIf(!existsSync(join(root, '.git')))('No file names the address of a package', () => {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');
  const withAddress = files.filter(
    (file) =>
      !/(^|\/)(package-lock\.json|Cargo\.lock|composer\.lock|go\.sum)$/.test(file) &&
      /https?:\/\/[^\s"'`)]+\.(jar|tgz|tar\.gz|whl|crate|gem|nupkg|deb)\b/.test(
        readFileSync(join(root, file), 'utf8'),
      ),
  );
  expect(withAddress).toEqual([]);
});

// Detects downloads and build results that were committed by mistake.
test.skipIf(!existsSync(join(root, '.git')))('Only two images are binary files', () => {
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

  test('is in .env.example with its default', () => {
    expect(Object.keys(example).sort()).toEqual([...read].sort());
    expect(readConfig(example as Record<string, string>)).toEqual(defaults);
  });

  test('is in the table of docs/operating.md', () => {
    const page = readFileSync(join(root, 'docs/operating.md'), 'utf8');
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    const named = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name]) => name),
    );
    expect(named.sort()).toEqual([...read].sort());
  });
});
