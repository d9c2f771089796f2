import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';

const execute = promisify(execFile);

export const root = join(import.meta.dirname, '../../..');
export const cacheFolder = join(root, 'node_modules/.cache/space-service-clients');

/** Longer than a first compilation with all dependencies takes. */
const COMMAND_TIMEOUT_MS = 15 * 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** A code generator, and how to compile its client and the journey, the program that uses this client. */
export interface Generator {
  /** Has the journey, the settings and the files that pin the libraries. */
  folder: string;
  /** Pinned in a file of `folder`, or for all languages of OpenAPI Generator in `openapi-generator.ts`. */
  version: string;
  toolchains: readonly Toolchain[];
  /** Installs what the command below needs, unless it is cached. */
  install(workspace: Workspace): Promise<void>;
  /** Generates the client from `openapi.yaml` in the current folder. `docs/clients.md` has the same command. */
  command: string;
  /** Compiles the client and the journey with the strictest usual settings. */
  compile(workspace: Workspace): Promise<void>;
  /** Runs the journey. */
  journey: string;
}

/** A program or library that the machine must have. */
export interface Toolchain {
  name: string;
  /** Prints the version as the first number. */
  command: readonly [string, ...string[]];
  minimumVersion: string;
}

export const node: Toolchain = {
  name: 'Node.js',
  command: ['node', '--version'],
  minimumVersion: '24',
};

export const go: Toolchain = { name: 'Go', command: ['go', 'version'], minimumVersion: '1.26' };

export const python: Toolchain = {
  name: 'Python',
  command: ['python3', '--version'],
  minimumVersion: '3.11',
};

export const cargo: Toolchain = {
  name: 'Cargo',
  command: ['cargo', '--version'],
  minimumVersion: '1.88',
};

export const java: Toolchain = {
  name: 'Java',
  // Unlike -version, prints to standard output. On standard error, Java repeats options of the environment.
  command: ['java', '--version'],
  minimumVersion: '11',
};

export const javac: Toolchain = {
  name: 'the Java compiler',
  command: ['javac', '--version'],
  minimumVersion: '17',
};

export const maven: Toolchain = {
  name: 'Maven',
  command: ['mvn', '--version'],
  minimumVersion: '3.8',
};

/** Returns why this machine cannot use the toolchain, or undefined if it can. */
export async function findProblemWith({
  name,
  command: [program, ...args],
  minimumVersion,
}: Toolchain): Promise<string | undefined> {
  const wanted = `${name} ${minimumVersion} or later is required`;
  let output: string;
  try {
    const { stdout, stderr } = await execute(program, args);
    output = stripVTControlCharacters(stdout + stderr);
  } catch (error) {
    const { code } = error as ExecutionError;
    return `${wanted}, but ${program} ${code === 'ENOENT' ? 'is not installed' : `fails with ${code}`}`;
  }
  const version = /\d+(\.\d+)*/.exec(output)?.[0] ?? '0';
  const isEnough = version.localeCompare(minimumVersion, 'en', { numeric: true }) >= 0;
  return isEnough ? undefined : `${wanted}, and this machine has ${version}`;
}

/** Folders and commands of one generator. */
export interface Workspace {
  /** Kept from run to run, for installed dependencies. */
  cache: string;
  /** In `cache`. Recreated for each run with the files of the generator's folder and `openapi.yaml`. */
  folder: string;
  /**
   * Runs a program in `folder`, with arguments separated by spaces. Resolves to its output. Commands name files of the
   * cache relative to `folder`, because its path can contain spaces.
   * @throws Error with the command and its output
   */
  run(command: string, env?: Record<string, string>): Promise<string>;
  /** Returns the paths of all files below `below` whose names end with `ending`. Paths are relative to `folder`. */
  listFiles(below: string, ending: string): Promise<string[]>;
  /** Prepends a folder to the PATH of later commands. */
  addToPath(folder: string): void;
}

export async function openWorkspace({
  folder: source,
}: Pick<Generator, 'folder'>): Promise<Workspace> {
  const cache = join(cacheFolder, basename(source));
  const folder = join(cache, 'work');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await cp(source, folder, { recursive: true });
  await cp(join(root, 'openapi.yaml'), join(folder, 'openapi.yaml'));
  let path = process.env.PATH;
  return {
    cache,
    folder,
    async listFiles(below, ending) {
      const names = await readdir(join(folder, below), { recursive: true });
      return names.filter((name) => name.endsWith(ending)).map((name) => join(below, name));
    },
    addToPath(added) {
      path = added + delimiter + path;
    },
    async run(command, env = {}) {
      const [program = '', ...args] = command.split(' ');
      try {
        const { stdout, stderr } = await execute(program, args, {
          cwd: folder,
          env: { ...process.env, PATH: path, ...env },
          timeout: COMMAND_TIMEOUT_MS,
          maxBuffer: MAX_OUTPUT_BYTES,
        });
        return stdout + stderr;
      } catch (error) {
        const { code, signal, stdout = '', stderr = '' } = error as ExecutionError;
        throw new Error(`${command}: ${signal ?? `exit code ${code}`}\n${stdout}${stderr}`);
      }
    },
  };
}

interface ExecutionError {
  code: number | string;
  signal: NodeJS.Signals | null;
  stdout?: string;
  stderr?: string;
}

/** Installs the packages of `requirements.txt` into a virtual environment and adds it to the PATH. */
export async function installPythonPackages(workspace: Workspace): Promise<void> {
  const environment = join(workspace.cache, 'python');
  await installOnce(workspace, 'requirements.txt', environment, async () => {
    await workspace.run('python3 -m venv ../python');
    await workspace.run(
      '../python/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt',
    );
  });
  workspace.addToPath(join(environment, 'bin'));
}

/** Installs the packages of `package-lock.json` and adds their programs to the PATH. */
export async function installNodePackages(workspace: Workspace): Promise<void> {
  // Node.js and TypeScript look for packages in the parent folders, too.
  const packages = join(workspace.cache, 'node_modules');
  await installOnce(workspace, 'package-lock.json', packages, async () => {
    for (const file of ['package.json', 'package-lock.json']) {
      await cp(join(workspace.folder, file), join(workspace.cache, file));
    }
    await workspace.run('npm ci --prefix .. --no-audit --no-fund');
  });
  workspace.addToPath(join(packages, '.bin'));
}

export const MAVEN_DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';

/** Downloads the dependencies in `pom.xml`, with their own dependencies, to `lib` in the cache. */
export async function installJars(workspace: Workspace): Promise<void> {
  const target = join(workspace.cache, 'lib');
  await installOnce(workspace, 'pom.xml', target, async () => {
    await workspace.run(
      `mvn --batch-mode --quiet ${MAVEN_DEPENDENCY_PLUGIN}:copy-dependencies -DoutputDirectory=../lib`,
    );
  });
}

/** Calls `install` unless `target` was installed for the same lock file. */
async function installOnce(
  { folder, cache }: Workspace,
  lockFile: string,
  target: string,
  install: () => Promise<void>,
): Promise<void> {
  const hash = createHash('sha256').update(await readFile(join(folder, lockFile)));
  const wanted = hash.digest('hex');
  const marker = join(cache, `${basename(target)}.installed`);
  if (existsSync(marker) && (await readFile(marker, 'utf8')) === wanted) return;
  await rm(marker, { force: true });
  await rm(target, { recursive: true, force: true });
  await install();
  await writeFile(marker, wanted);
}
