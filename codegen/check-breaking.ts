import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { breakingChanges } from './breaking.ts';

// Fails if openapi.yaml breaks clients of the last released contract.
const read = (file: string) => parse(readFileSync(file, 'utf8'));
const changes = breakingChanges(read('codegen/released.yaml'), read('openapi.yaml'));
for (const change of changes) console.error(`breaking: ${change}`);
if (changes.length > 0) {
  console.error(
    `openapi.yaml breaks clients of codegen/released.yaml (${changes.length}). Apply the remedy in each line, or ` +
      'release a new major version (before 1.0, a minor one) and copy openapi.yaml to codegen/released.yaml.',
  );
  process.exitCode = 1;
}
