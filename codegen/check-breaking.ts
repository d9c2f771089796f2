import { readFileSync } from 'node:fs';
import { apiCompare, type Diff } from 'api-smart-diff';
import { parse } from 'yaml';

// Fails if a client of the last released contract would not get along with this one.
const read = (file: string) => parse(readFileSync(file, 'utf8'));
const { diffs } = apiCompare(read('codegen/released.yaml'), read('openapi.yaml'));
const breaking = diffs.filter((diff) => diff.type === 'breaking' || isRefusedField(diff));
for (const { path, description, action } of breaking) {
  console.error(`breaking: ${path.join('/')}: ${description ?? action}`);
}
if (breaking.length > 0) {
  console.error(
    'Make the change an addition, or release a new major version and copy openapi.yaml to codegen/released.yaml.',
  );
  process.exitCode = 1;
}

/** Request bodies are closed, so a field that is no longer known is refused: more than the library knows. */
function isRefusedField({ path, action }: Diff): boolean {
  return action === 'remove' && path.includes('requestBody') && path.at(-2) === 'properties';
}
