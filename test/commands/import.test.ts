import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ada } from '../import-export/records.ts';
import { runCommand } from '../support/commands.ts';
import { toNdjson } from '../support/ndjson.ts';

const bread = { type: 'space', space_id: 'bread', creator_id: 'ada', title: 'Bread' };
const hello = {
  type: 'message',
  message_id: 'hello',
  space_id: 'bread',
  author_id: 'ada',
  text: 'Hello',
};

let folder: string;
let DATA_DIR: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'import-'));
  DATA_DIR = join(folder, 'data');
});
afterEach(() => rm(folder, { recursive: true }));

const toUtf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

/** Imports the content of a file. */
async function importContent(content: string | Buffer, flags: string[] = []) {
  const file = join(folder, 'data.ndjson');
  await writeFile(file, content);
  return runCommand('import', [file, ...flags], { DATA_DIR });
}

const exportText = async () => (await runCommand('export', [], { DATA_DIR })).stdout;

const NOTHING = 'Nothing was imported. Correct these lines, or skip them with --skip-bad.\n';

describe('An import', () => {
  test('reads an export of texts with all line separators that texts may contain', async () => {
    const separators = '\n\r\r\n\t\u2028\u2029 ';
    const message = { ...hello, text: `one${separators}two` };
    const space = { ...bread, description: `one\n\u2028\u2029two` };
    expect((await importContent(toNdjson([ada, space, message]))).stderr).toBe('');
    const before = await exportText();
    expect(before).toContain('one\\n\\r\\r\\n\\t\u2028\u2029 two');
    await rm(DATA_DIR, { recursive: true });
    expect(await importContent(before)).toMatchObject({ code: 0, stderr: '' });
    expect(await exportText()).toBe(before);
  });

  test('accepts a byte order mark at the beginning', async () => {
    const { code, stdout } = await importContent(`\ufeff${toNdjson([ada, bread])}`);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^2 records added/),
    });
  });

  test('accepts a last line without a line break', async () => {
    const { stdout } = await importContent(toNdjson([ada, bread]).trimEnd());
    expect(stdout).toMatch(/^2 records added/);
  });

  test.each([
    ['UTF-16', toUtf16(toNdjson([ada]))],
    ['Latin-1', Buffer.from(toNdjson([{ ...ada, bio: 'Grüße' }]), 'latin1')],
    ['a compressed file', Buffer.from('1f8b0800000000000003', 'hex')],
  ])('rejects %s instead of storing replacement characters', async (_, content) => {
    const { code, stderr } = await importContent(content);
    expect(code).toBe(1);
    expect(stderr.split('\n')[0]).toBe('line 1: is not UTF-8');
    expect(stderr.endsWith(NOTHING)).toBe(true);
    expect(await exportText()).toBe('');
  });

  test('prints nothing of a line that changes the display of a terminal', async () => {
    const name = `\u001b[2J\u009b\u202e${'x'.repeat(1_000)}`;
    const { code, stderr } = await importContent(toNdjson([{ ...ada, [name]: 1 }]));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^line 1: has the unknown field \\u\{1b\}/);
    expect(stderr).not.toMatch(/[^\P{C}\n]/u);
    expect(stderr.length).toBeLessThan(300);
  });
});

test.each([
  ['rejects', []],
  ['skips', ['--skip-bad']],
])('An import in a terminal erases its progress when it %s bad lines', async (_, flags) => {
  const file = join(folder, 'data.ndjson');
  await writeFile(file, `${toNdjson([ada])}{`);
  const args = [file, ...flags];
  const { stderr } = await runCommand('import', args, { DATA_DIR }, '', { isTerminal: true });
  expect(stderr).toContain('\r2 lines\r\u001b[Kline 2: is not JSON\n');
});

test('An import with --skip-bad exits with 65 only if it has skipped lines', async () => {
  const run = (input: string) => runCommand('import', ['-', '--skip-bad'], { DATA_DIR }, input);
  expect(await run(`${toNdjson([ada])}{`)).toMatchObject({
    code: 65,
    stdout: expect.stringMatching(/ 1 bad line skipped,/),
  });
  expect((await run(toNdjson([ada]))).code).toBe(0);
});

test('An import names the cause of bad lines once, and counts all that it has skipped', async () => {
  const records = [{ ...ada, email: 'none' }, bread, hello, { ...hello, message_id: 'hello2' }];
  const { stdout, stderr } = await importContent(toNdjson(records), ['--skip-bad']);
  expect(stderr.split('\n')).toEqual([
    expect.stringMatching(/^line 1: .*email/i),
    'line 2: depends on line 1, as do 2 later lines',
    '',
  ]);
  expect(stdout).toContain('0 records added, 0 were there already, 4 bad lines skipped');
});

test('An import names a file that cannot be read', async () => {
  const missing = join(folder, 'missing');
  const reasons = {
    [folder]: 'EISDIR: illegal operation on a directory, read',
    [missing]: `ENOENT: no such file or directory, open '${missing}'`,
  };
  for (const [file, reason] of Object.entries(reasons)) {
    expect(await runCommand('import', [file], { DATA_DIR })).toEqual({
      code: 1,
      stdout: '',
      stderr: `${file} cannot be read. ${reason}\n`,
    });
  }
});

test('An import names the database', async () => {
  const { stdout } = await runCommand('import', ['-'], { DATA_DIR }, toNdjson([ada]));
  expect(stdout.endsWith(` s. Database: DATA_DIR=${DATA_DIR}\n`)).toBe(true);
});

test.each([[[]], [['--skip-bad']]])(
  'An import rejects a backup with one line: %j',
  async (flags: string[]) => {
    await runCommand('import', ['-'], { DATA_DIR }, toNdjson([ada]));
    const backup = join(folder, 'backup.sqlite');
    await runCommand('backup', [backup], { DATA_DIR });
    const args = [backup, ...flags];
    expect(await runCommand('import', args, { DATA_DIR })).toEqual({
      code: 1,
      stdout: '',
      stderr: `${backup} is a backup or another database file, not an export. To restore a backup, see "Restore" in docs/operating.md.\n`,
    });
  },
);

test.each([
  [99, 'Nothing was imported. Correct these lines, or skip them with --skip-bad.'],
  [
    101,
    'Nothing was imported. The import stopped after 100 bad lines, so there may be more. Correct these lines, or skip them with --skip-bad.',
  ],
])('An import of %i bad lines says whether there may be more', async (count, message) => {
  const { stderr } = await importContent('bad\n'.repeat(count));
  const lines = stderr.trimEnd().split('\n');
  expect(lines).toHaveLength(Math.min(count, 100) + 1);
  expect(lines.at(-1)).toBe(message);
});
