import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ada } from '../import-export/records.ts';
import { runCommand, runProgram, startProgram } from '../support/commands.ts';
import { EX_CONFIG } from '../support/exit-codes.ts';
import { toNdjson } from '../support/ndjson.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/processes.ts';
import { startServer } from '../support/server.ts';

const lines = toNdjson([ada]);

/** An import of no lines that waits until the file in its argument exists. */
const WAITING_IMPORT = `until [ -e "$0" ]; do sleep 0.1; done |
  node --import ./server/process/preload.js server/main.ts import -`;

/** Exists while a process has opened the database. */
const OPEN_DATABASE = 'space-service.sqlite-wal';

let folder: string;
let DATA_DIR: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-folder-'));
  DATA_DIR = join(folder, 'data');
});
afterEach(() => rm(folder, { recursive: true }));

const importLines = () => runCommand('import', ['-'], { DATA_DIR }, lines);

/** Returns the status of a response, or 0 without one. */
const statusOf = (port: string, path: string) =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } }).then(
    ({ status }) => status,
    () => 0,
  );

const importRefused = () => `A server uses DATA_DIR=${DATA_DIR}. Stop it before the import.\n`;

describe('An import', () => {
  test.each(['1', '2'])(
    'is refused with one line while a server with WORKERS=%s runs',
    async (WORKERS) => {
      {
        await using _server = await startServer({ DATA_DIR, WORKERS });
        expect(await importLines()).toEqual({ code: 1, stdout: '', stderr: importRefused() });
      }
      // The server was killed, so it could not release its lock.
      expect(await importLines()).toMatchObject({ code: 0, stderr: '' });
    },
  );

  test('delays the start of a server until it is done', async () => {
    await importLines();
    const go = join(folder, 'go');
    await using importing = startProcess('bash', ['-c', WAITING_IMPORT, go], { DATA_DIR });
    await expect.poll(() => readdir(DATA_DIR)).toContain(OPEN_DATABASE);
    const PORT = String(await freePort());
    await using server = startProgram('start', [], { DATA_DIR, PORT });
    await expect
      .poll(server.stdout)
      .toContain('an import uses DATA_DIR, waiting until it has stopped');
    await expect.poll(() => statusOf(PORT, '/readyz')).toBe(503);
    await writeFile(go, '');
    expect(await importing.exited).toBe(0);
    await expect.poll(() => statusOf(PORT, '/readyz')).toBe(200);
  });
});

test('Commands work while a server runs', async () => {
  await importLines();
  await using _server = await startServer({ DATA_DIR });
  const commands: [string, string[], string?][] = [
    ['export', []],
    ['backup', [join(folder, 'copy.sqlite')]],
    ['verify-account', [ada.email]],
    ['set-password', [ada.email], 'marmalade on toast\n'],
    ['compact', []],
  ];
  for (const [command, args, input] of commands) {
    expect(await runCommand(command, args, { DATA_DIR }, input)).toMatchObject({ code: 0 });
  }
});

describe('A second server', () => {
  const secondRefused = () =>
    `Another server or an import uses DATA_DIR=${DATA_DIR}. Stop it, or set DATA_DIR to another folder.\n`;

  test('with the same DATA_DIR waits for the first one to stop, and then starts', async () => {
    await using first = await startServer({ DATA_DIR });
    const PORT = String(await freePort());
    await using second = startProgram('start', [], { DATA_DIR, PORT });
    await expect.poll(second.stdout).toContain('waiting until it has stopped');
    await expect.poll(() => statusOf(PORT, '/healthz')).toBe(200);
    expect(await statusOf(PORT, '/readyz')).toBe(503);
    await first.stop();
    await expect.poll(() => statusOf(PORT, '/readyz')).toBe(200);
  });

  test('with the same DATA_DIR is refused with one line if the first one does not stop', async () => {
    await using first = await startServer({ DATA_DIR });
    const PORT = String(await freePort());
    const settings = { DATA_DIR, PORT, DRAIN_SECONDS: '0' };
    const { code, stderr } = await runProgram('start', [], settings);
    expect({ code, stderr }).toEqual({ code: EX_CONFIG, stderr: secondRefused() });
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
  });

  test('starts at once after the first one was killed', async () => {
    const first = await startServer({ DATA_DIR, WORKERS: '2' });
    await first.kill();
    await using second = await startServer({ DATA_DIR, LOG_LEVEL: 'info' });
    expect(second.output()).not.toContain('waiting');
  });
});
