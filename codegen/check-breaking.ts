import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { breakingChanges } from './breaking.ts';

// Fails if a client of the last released contract would not get along with this one.
const read = (file: string) => parse(readFileSync(file, 'utf8'));
const changes = breakingChanges(read('codegen/released.yaml'), read('openapi.yaml'));
for (const change of changes) console.error(`breaking: ${change}`);
if (changes.length > 0) {
  console.error(
    'Make the change an addition, or release a new major version and copy openapi.yaml to codegen/released.yaml.',
  );
  process.exitCode = 1;
}
