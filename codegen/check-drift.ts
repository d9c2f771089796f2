import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { generate } from './generate.ts';

// Fails unless `generated/` equals the output of `npm run generate`. The fresh output is written inside the project,
// because the generator reads the tsconfig.json above its output folder.
mkdirSync('node_modules/.cache', { recursive: true });
const freshFolder = mkdtempSync('node_modules/.cache/generated-');
try {
  await generate(freshFolder);
  const files = new Set([...listFiles(freshFolder), ...listFiles('generated')]);
  const drifted = [...files].filter(
    (file) => readIfExists(join(freshFolder, file)) !== readIfExists(join('generated', file)),
  );
  if (drifted.length > 0) {
    console.error(`These files in generated/ do not match openapi.yaml: ${drifted.join(', ')}.`);
    console.error('Run: npm run generate');
    process.exitCode = 1;
  }
} finally {
  rmSync(freshFolder, { recursive: true });
}

function listFiles(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(folder, name)).isFile());
}

function readIfExists(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
