import { execFile } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { type ProcessResult, type RunningProcess, startProcess } from '../support/processes.ts';
import { packagesWithDependencies } from './locked.ts';

const run = promisify(execFile);

const BIN_FOLDER = 'node_modules/.bin';

/** A built package in a project outside the repository. */
export interface Installation {
  project: string;
  /** The installed package, inside the project. */
  path: string;
  tarball: string;
  /** Starts a command of the package in the project, which contains all its temporary files. */
  start(
    command: string,
    args: readonly string[],
    env?: Record<string, string>,
    input?: string,
  ): RunningProcess;
  /** Runs a command of the package to its end. */
  run(...args: Parameters<Installation['start']>): Promise<ProcessResult>;
}

/**
 * Builds and packs a package, and installs the tarball with npm in an empty project.
 *
 * npm has no network and an empty cache. It finds the dependencies because they are copied from the repository before.
 * The installation fails if the package declares a dependency that is not copied.
 * @param dependencies their names; what they depend on is copied, too
 * @param folder an empty folder for all files
 */
export async function installPackage(
  name: string,
  dependencies: readonly string[],
  folder: string,
): Promise<Installation> {
  await run(process.execPath, ['codegen/build-packages.ts', join(folder, 'built'), name]);
  const source = join(folder, 'built', name);
  const packed = await run('npm', ['pack', source, '--pack-destination', folder, '--silent']);
  const tarball = join(folder, packed.stdout.trim());
  const project = join(folder, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{}');
  await copyDependencies(dependencies, project);
  const options = ['--offline', '--cache', join(folder, 'cache'), '--no-audit', '--no-fund'];
  await run('npm', ['install', tarball, ...options], { cwd: project });

  const start: Installation['start'] = (command, args, env = {}, input = '') => {
    const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
    const program = join(project, BIN_FOLDER, command);
    const settings = { PATH, TMPDIR: project, NODE_COMPILE_CACHE: '', ...env };
    return startProcess(program, args, settings, input, project);
  };
  return {
    project,
    path: join(project, 'node_modules', name),
    tarball,
    start,
    async run(...args) {
      await using running = start(...args);
      return await running.result;
    },
  };
}

/** Copies packages from the repository, with all packages that they depend on. */
async function copyDependencies(names: readonly string[], target: string): Promise<void> {
  const binFolder = join(target, BIN_FOLDER);
  await mkdir(binFolder, { recursive: true });
  for (const [path, { bin = {} }] of packagesWithDependencies(names)) {
    // Nested packages are copied with the one that contains them. Packages for other platforms are not installed.
    if (path.lastIndexOf('node_modules/') > 0 || !existsSync(path)) continue;
    const mode = constants.COPYFILE_FICLONE;
    await cp(path, join(target, path), { recursive: true, mode });
    // npm downloads a package again if the links to its programs are missing.
    for (const [program, file] of Object.entries(bin)) {
      await symlink(relative(binFolder, join(target, path, file)), join(binFolder, program));
    }
  }
}
