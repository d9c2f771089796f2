import { readFileSync } from 'node:fs';

/** The fields of an entry of package-lock.json that are read or removed here. */
interface LockedPackage {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  dev?: boolean;
  devOptional?: boolean;
  peer?: boolean;
  optional?: boolean;
}

/** The package.json of a package. */
interface Manifest extends LockedPackage {
  name: string;
  version: string;
  dependencies: Record<string, string>;
}

/** By path, such as `node_modules/fastify/node_modules/semver`. */
type LockedPackages = Record<string, LockedPackage>;

/**
 * Returns the npm-shrinkwrap.json of a package: the part of package-lock.json that its dependencies need.
 * @throws Error if package-lock.json lacks a dependency
 */
export function lockFileOf(manifest: Manifest): object {
  const { lockfileVersion, packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    lockfileVersion: number;
    packages: LockedPackages;
  };
  for (const name of Object.keys(manifest.dependencies)) {
    if (!packages[`node_modules/${name}`]) throw new Error(`package-lock.json lacks ${name}.`);
  }
  const required = findDependencies(packages, manifest, ['dependencies', 'peerDependencies']);
  const all = findDependencies(packages, manifest, [
    'dependencies',
    'peerDependencies',
    'optionalDependencies',
  ]);
  const locked: LockedPackages = { '': manifest };
  for (const path of [...all].sort()) {
    // These flags describe the use in the repository: npm would leave out a dependency that is for development there.
    const { dev, devOptional, peer, optional, ...entry } = packages[path] as LockedPackage;
    locked[path] = required.has(path) ? entry : { ...entry, optional: true };
  }
  const { name, version } = manifest;
  return { name, version, lockfileVersion, requires: true, packages: locked };
}

/** Returns the paths of all direct and transitive dependencies that package-lock.json contains. */
function findDependencies(
  packages: LockedPackages,
  manifest: LockedPackage,
  kinds: ('dependencies' | 'optionalDependencies' | 'peerDependencies')[],
): Set<string> {
  const found = new Set<string>();
  const visit = (path: string, entry: LockedPackage) => {
    for (const name of kinds.flatMap((kind) => Object.keys(entry[kind] ?? {}))) {
      const dependency = resolve(packages, path, name);
      if (dependency === undefined || found.has(dependency)) continue;
      found.add(dependency);
      visit(dependency, packages[dependency] as LockedPackage);
    }
  };
  visit('', manifest);
  return found;
}

/** Returns the path of a package as Node.js resolves its name: in the nearest `node_modules` upwards. */
function resolve(packages: LockedPackages, from: string, name: string): string | undefined {
  const path = from === '' ? `node_modules/${name}` : `${from}/node_modules/${name}`;
  if (packages[path]) return path;
  if (from === '') return undefined;
  return resolve(packages, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
}
