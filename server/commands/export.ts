import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { readConfigOrExit } from '../config.ts';
import { openDatabase } from '../database/open.ts';
import { exportRecords } from '../exchange/export.ts';

const [file, ...rest] = process.argv.slice(2);
if (rest.length > 0) {
  console.error(
    'Usage: npm run export -- FILE.ndjson   or   npm run --silent export > FILE.ndjson',
  );
  process.exit(1);
}

await using engine = await openDatabase(readConfigOrExit(), { maintains: false });
// The file holds addresses and password hashes: nobody else is to read it.
const output = file === undefined ? process.stdout : createWriteStream(file, { mode: 0o600 });
let count = 0;
await exportRecords(engine, async (record) => {
  count += 1;
  if (!output.write(`${JSON.stringify(record)}\n`)) await once(output, 'drain');
});
if (file !== undefined) {
  output.end();
  await finished(output);
}
console.error(`${count} records written.`);
