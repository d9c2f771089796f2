import { type FileHandle, open } from 'node:fs/promises';
import type { Terminal } from '../command-line/command.ts';
import { describeTarget, withConfig } from '../command-line/on-database.ts';
import { writeOutputFile } from '../command-line/output-file.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { databaseKind, openDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { exportRecords } from '../import-export/export.ts';
import { createDataFolder } from '../system/data-folder.ts';
import { openTemporaryFile } from '../system/temporary-file.ts';
import { plural } from '../text/quantity.ts';

/** Minimum number of characters per write, except for the last one. */
const MIN_CHUNK_LENGTH = 65_536;

export const exportDatabase = withConfig(
  async (config, { argument: file }, { output, console }) => {
    (await databaseKind(config)).assertExists(config);
    const count =
      file === '' ? await exportToPipe(config, output) : await exportToFile(file, config);
    console.error(`${count} ${plural(count, 'record')} written. ${describeTarget(config)}`);
  },
);

async function exportToFile(file: string, config: Config): Promise<number> {
  await using engine = await openDatabase(config, { purpose: 'command' });
  let count = 0;
  await writeOutputFile(file, { kind: 'export', dataDir: config.dataDir }, async (path) => {
    await using output = await open(path, 'w');
    // Errors of the database are explained here, because `writeOutputFile` would take some of them for failed writes.
    count = await writeRecords(engine, output, file).catch(async (error) => {
      throw (await databaseKind(config)).explainError(config, error);
    });
  });
  return count;
}

/**
 * Writes a temporary file first, because the reader of a pipe may pause for hours. During a pause, a snapshot would
 * keep deleted data from being overwritten, and the write-ahead log would grow.
 */
async function exportToPipe(config: Config, output: Terminal['output']): Promise<number> {
  // With a database on another machine, this one may not have a data folder yet.
  await createDataFolder(config.dataDir);
  await using copy = await openTemporaryFile(config.dataDir);
  const count = await fillTemporaryFile(copy, config);
  // `write` rejects, too. Without a listener, the event would end the process.
  output.on('error', () => {});
  for await (const chunk of copy.createReadStream({ start: 0, autoClose: false })) {
    await write(output, chunk);
  }
  return count;
}

async function fillTemporaryFile(copy: FileHandle, config: Config): Promise<number> {
  await using engine = await openDatabase(config, { purpose: 'command' });
  return await writeRecords(engine, copy, `The temporary file of the export in ${config.dataDir}`);
}

/**
 * Writes every record and returns their number.
 * @param name of the output, for messages
 * @throws OperatorError if the output cannot be written
 */
async function writeRecords(engine: Engine, output: FileHandle, name: string): Promise<number> {
  let count = 0;
  let text = '';
  const write = async () => {
    try {
      await output.writeFile(text);
    } catch (error) {
      const { message } = error as Error;
      throw new OperatorError(`${name} cannot be written. ${message}`, { cause: error });
    }
    text = '';
  };
  await exportRecords(engine, async (record) => {
    count += 1;
    text += `${JSON.stringify(record)}\n`;
    if (text.length >= MIN_CHUNK_LENGTH) await write();
  });
  await write();
  return count;
}

function write(output: Terminal['output'], chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(chunk, (error) => {
      // An OperatorError, because a closed pipe and a lost connection to the database have the same error codes.
      if (error) reject(new OperatorError(error.message, { cause: error }));
      else resolve();
    });
  });
}
