import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ada } from '../import-export/records.ts';
import { PROGRAM, runProgram } from '../support/commands.ts';
import { toNdjson } from '../support/ndjson.ts';
import { type ProcessResult, preload, startProcess } from '../support/processes.ts';

let folder: string;
let DATA_DIR: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'import-'));
  DATA_DIR = join(folder, 'data');
});
afterEach(() => rm(folder, { recursive: true }));

/**
 * Makes an import exit with 99 if it has used over 280 MB. Less than 200 MB is enough for lines of any length.
 *
 * Not with `resourceUsage().maxRSS`, which on Linux includes the memory of the process that has started this one.
 */
const WITH_LITTLE_MEMORY = preload(`
  import { peakResidentBytes } from '${new URL('../support/process-usage.ts', import.meta.url)}';
  process.on('exit', () => {
    if (peakResidentBytes(process.pid) > 280_000_000) process.exitCode = 99;
  });`);

/** Runs an import with the file as its standard input. */
async function importFromPipe(file: string, flags: string): Promise<ProcessResult> {
  const script = `cat "$0" | exec node ${PROGRAM.join(' ')} import - ${flags}`;
  const settings = { DATA_DIR, ...WITH_LITTLE_MEMORY };
  await using running = startProcess('sh', ['-c', script, file], settings);
  return await running.result;
}

test('An import rejects a line of 100 MB in little memory, and skips it if asked', async () => {
  const file = join(folder, 'data.ndjson');
  const bread = { type: 'space', space_id: 'bread', creator_id: 'ada', title: 'Bread' };
  const longLine = `{"type":"user","bio":"${'x'.repeat(100_000_000)}"}\n`;
  await writeFile(file, toNdjson([ada]) + longLine + toNdjson([bread]));
  const settings = { DATA_DIR, ...WITH_LITTLE_MEMORY };
  const rejected = await runProgram('import', [file], settings);
  const reason = 'line 2: is longer than 262,144 bytes\n';
  expect(rejected).toMatchObject({
    code: 1,
    stderr: `${reason}Nothing was imported. Correct these lines, or skip them with --skip-bad.\n`,
  });
  const skipped = await importFromPipe(file, '--skip-bad');
  expect(skipped).toMatchObject({ code: 65, stderr: reason });
  expect(skipped.stdout).toMatch(/^2 records added, 0 were there already, 1 bad line skipped,/);
});

test('An import lists many bad lines in little memory', async () => {
  const LINES = 300_000;
  const file = join(folder, 'bad.ndjson');
  const message = { type: 'message', author_id: 'ada', text: 'Hello' };
  const lines = Array.from({ length: LINES }, (_, i) =>
    JSON.stringify({ ...message, space_id: `bread${i}` }),
  );
  await writeFile(file, lines.join('\n'));
  const script = `node --max-old-space-size=64 ${PROGRAM.join(' ')} import --skip-bad "$0" 2>&1 | tail -n 2`;
  await using running = startProcess('bash', ['-c', `set -o pipefail; ${script}`, file], {
    DATA_DIR,
  });
  const { code, stdout } = await running.result;
  expect(code, stdout).toBe(65);
  expect(stdout).toMatch(
    new RegExp(`^line ${LINES}: .* is not known\n0 records added, .* ${LINES} bad lines skipped`),
  );
});
