import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ada } from '../import-export/records.ts';
import { completeCommand, PROGRAM, startProgram } from '../support/commands.ts';
import { toNdjson } from '../support/ndjson.ts';
import { preload, startProcess } from '../support/processes.ts';

let folder: string;
let DATA_DIR: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'output-files-'));
  DATA_DIR = join(folder, 'data');
});
afterEach(() => rm(folder, { recursive: true }));

/** Imports enough data that a command writes for some time. */
const importLargeSpace = async () => {
  const space = { type: 'space', space_id: 'bread', creator_id: 'ada', title: 'Bread' };
  const message = { type: 'message', space_id: 'bread', author_id: 'ada' };
  const records: object[] = [ada, space];
  for (let i = 0; i < 40_000; i += 1)
    records.push({ ...message, text: `${i}${'x'.repeat(1_900)}` });
  await completeCommand('import', ['-'], { DATA_DIR }, toNdjson(records));
};

/**
 * Returns a script that sends a signal to its process once the process has written a part of a temporary file. On a
 * busy machine, the signal of another process could come after the end of the command.
 */
const sendSignalHalfWay = (signal: NodeJS.Signals) => `
  import { readdirSync, statSync } from 'node:fs';
  import { join } from 'node:path';
  import { isMainThread } from 'node:worker_threads';
  const folder = ${JSON.stringify(folder)};
  const isHalfWay = () =>
    readdirSync(folder).some(
      (name) =>
        name.endsWith('.part') &&
        statSync(join(folder, name), { throwIfNoEntry: false })?.size > 1_000_000,
    );
  const send = () => isHalfWay() && process.kill(process.pid, '${signal}');
  if (isMainThread) setInterval(send, 1).unref();`;

describe.each(['backup', 'export'] as const)('%s', (command) => {
  test('leaves no file when a signal stops it half way', async () => {
    await importLargeSpace();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const settings = { DATA_DIR, ...preload(sendSignalHalfWay(signal)) };
      await using running = startProgram(command, [join(folder, 'copy')], settings);
      expect(await running.exited).toBe(signal);
      expect(await readdir(folder)).toEqual(['data']);
    }
  });
});

test('backup reports a full disk by the name of the copy', async () => {
  await completeCommand('import', ['-'], { DATA_DIR }, toNdjson([ada]));
  const file = join(folder, 'copy');
  const script = `ulimit -f 64; exec node ${PROGRAM.join(' ')} backup "$0"`;
  await using running = startProcess('sh', ['-c', script, file], { DATA_DIR });
  const { code, stderr } = await running.result;
  expect(code).toBe(1);
  expect(stderr).toContain(`${file}.`);
  expect(stderr).toContain('its disk is full or failing');
  expect(stderr).not.toContain('space-service.sqlite');
  expect(await readdir(folder)).toEqual(['data']);
});
