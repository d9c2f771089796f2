import { execFileSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Finds a program in PATH or where Go installs it. Warns if it is missing, because its tests are skipped then.
 * @param module the module and version to install
 */
export function findGoProgram(name: string, module: string): string | undefined {
  const executable = [name, join(homedir(), 'go', 'bin', name)].find((path) => {
    try {
      execFileSync(path, ['--help'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });
  if (!executable)
    console.warn(`Tests with ${name} are skipped. To install it: go install ${module}`);
  return executable;
}
