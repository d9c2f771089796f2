import { readFileSync } from 'node:fs';

/** A package in `package-lock.json`. */
interface LockedPackage {
  version: string;
  /** The real name, if the package is installed with another one. */
  name?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  bin?: Record<string, string>;
}

/** The installed packages by their path, such as `node_modules/dredd/node_modules/uuid`. */
const locked: Record<string, LockedPackage | undefined> = JSON.parse(
  readFileSync('package-lock.json', 'utf8'),
).packages;

/** Returns the packages with these names and all packages that they depend on, by their paths. */
export function packagesWithDependencies(names: readonly string[]): Map<string, LockedPackage> {
  const found = new Map<string, LockedPackage>();
  const visit = (name: string, from: string) => {
    const path = resolvePackage(name, from);
    if (path === undefined || found.has(path)) return;
    const each = locked[path] as LockedPackage;
    found.set(path, each);
    for (const dependency of dependenciesOf(each)) visit(dependency, `${path}/`);
  };
  for (const name of names) visit(name, '');
  return found;
}

function dependenciesOf({ dependencies, optionalDependencies }: LockedPackage): string[] {
  return Object.keys({ ...dependencies, ...optionalDependencies });
}

/**
 * Returns the path of a package in the nearest `node_modules`, like Node.js.
 * @param from the path of the importing package with a slash at its end, or an empty string for the repository
 */
function resolvePackage(name: string, from: string): string | undefined {
  const path = `${from}node_modules/${name}`;
  if (locked[path] !== undefined) return path;
  if (from === '') return undefined;
  return resolvePackage(name, from.slice(0, from.lastIndexOf('node_modules/')));
}
