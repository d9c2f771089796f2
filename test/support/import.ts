import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { commands } from '../../server/commands/index.ts';

const PROGRAM = fileURLToPath(new URL('../../server/main.ts', import.meta.url));

/**
 * Runs `npm run import`, and generates its input while the command reads it. The command prints its errors.
 * @param settings environment variables that locate the database
 * @param chunks parts of the input; for speed, each much longer than a line
 * @throws Error if the command fails
 */
export async function pipeToImport(
  settings: { DATA_DIR: string; DATABASE_URL?: string },
  chunks: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  const child = spawn(process.execPath, [...commands.import.nodeFlags, PROGRAM, 'import', '-'], {
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  const writing = pipeline(chunks, child.stdin);
  // Awaited below. If the command fails, it stops reading, and its exit code says more than a closed pipe.
  writing.catch(() => {});
  const [code] = await exited;
  if (code !== 0) throw new Error(`The import exited with code ${code}.`);
  await writing;
}
