import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dependenciesOf, packagesWithDependencies, resolvePackage } from './locked.ts';

/** Declarations of types, and a package whose only purpose is to report installations to its vendor. */
const EXCLUDED_PACKAGES = /^@types\/|^@scarf\/scarf$/;

/** Source maps, and TypeScript with its declarations. */
const EXCLUDED_FILES = /\.(map|[cm]?ts)$/;

/**
 * Copies packages from the repository, with all packages that they depend on, in the versions of `package-lock.json`.
 *
 * Their manifests get these exact versions. Otherwise, npm would replace the versions that `overrides` in the
 * repository's manifest chose, because overrides have no effect in the project of a user.
 */
export function bundlePackages(names: readonly string[], target: string): void {
  const bundled = packagesWithDependencies(names, EXCLUDED_PACKAGES);
  for (const [path, each] of bundled) {
    cpSync(path, join(target, path), {
      recursive: true,
      // Packages inside this one are copied on their own, if they are needed.
      filter: (source) =>
        !source.startsWith(`${path}/node_modules`) && !EXCLUDED_FILES.test(source),
    });
    const dependencies: Record<string, string> = {};
    for (const name of dependenciesOf(each)) {
      const dependency = bundled.get(resolvePackage(name, `${path}/`) ?? '');
      if (dependency === undefined) continue;
      const { name: realName, version } = dependency;
      dependencies[name] = realName === undefined ? version : `npm:${realName}@${version}`;
    }
    const file = join(target, path, 'package.json');
    const { optionalDependencies: _, ...manifest } = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`);
  }
}
