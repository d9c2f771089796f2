import { open } from 'node:fs/promises';
import { configFromEnvironment } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { explainDatabaseError, openExistingDatabase } from '../database/open.ts';
import { exportRecords } from '../exchange/export.ts';
import { runProgram } from '../process/program.ts';
import { writeOutputFile } from './output-file.ts';

/** Minimum number of characters per write, except for the last one. */
const MIN_CHUNK_LENGTH = 65_536;

const [file, ...rest] = process.argv.slice(2);
if (rest.length > 0) {
  console.error(
    'Usage: npm run export -- FILE.ndjson   or   npm run --silent export > FILE.ndjson',
  );
  process.exit(1);
}

await runProgram(async () => {
  const config = configFromEnvironment();
  await using engine = await openExistingDatabase(config);
  let count = 0;
  try {
    if (file === undefined) count = await write(engine, toStandardOutput);
    else {
      await writeOutputFile(file, { kind: 'export', dataDir: config.dataDir }, async (path) => {
        await using output = await open(path, 'w');
        count = await write(engine, (text) => output.writeFile(text));
      });
    }
  } catch (error) {
    throw explainDatabaseError(config, error);
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
