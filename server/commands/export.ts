import { open } from 'node:fs/promises';
import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { openExistingDatabase } from '../database/open.ts';
import { exportRecords } from '../exchange/export.ts';
import { runProgram } from '../process/program.ts';
import { writeOutputFile } from './output-file.ts';

/** Minimum number of characters per write, except for the last one. */
const MIN_CHUNK_LENGTH = 65_536;

const { argument: file } = readArguments('export');

await runProgram(async () => {
  await using engine = await openExistingDatabase(configFromEnvironment());
  let count = 0;
  if (file === '') count = await write(engine, toStandardOutput);
  else {
    await writeOutputFile(file, async (path) => {
      await using output = await open(path, 'w');
      count = await write(engine, (text) => output.writeFile(text));
    });
  }
  console.error(`${count} records written.`);
});

/** Writes every record and returns their number. */
async function write(engine: Engine, append: (text: string) => Promise<void>): Promise<number> {
  let count = 0;
  let text = '';
  await exportRecords(engine, async (record) => {
    count += 1;
    text += `${JSON.stringify(record)}\n`;
    if (text.length < MIN_CHUNK_LENGTH) return;
    await append(text);
    text = '';
  });
  await append(text);
  return count;
}

function toStandardOutput(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', reject);
    process.stdout.write(text, () => {
      process.stdout.off('error', reject);
      resolve();
    });
  });
}
