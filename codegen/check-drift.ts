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
import { createClient } from '@hey-api/openapi-ts';
import config from './openapi-ts.config.ts';

// Fails unless `generated/` is to the letter what the contract makes of it.
// Within the project: the generator looks at the tsconfig.json above what it writes.
mkdirSync('node_modules/.cache', { recursive: true });
const fresh = mkdtempSync('node_modules/.cache/generated-');
try {
  await createClient({ ...config, output: { ...config.output, path: fresh } });
  const drifted = [...new Set([...filesIn(fresh), ...filesIn('generated')])].filter(
    (file) => contentOf(join(fresh, file)) !== contentOf(join('generated', file)),
  );
  if (drifted.length > 0) {
    console.error(`generated/ is not what openapi.yaml makes of it: ${drifted.join(', ')}.`);
    console.error('Run: npm run generate');
    process.exitCode = 1;
  }
} finally {
  rmSync(fresh, { recursive: true });
}

function filesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(folder, name)).isFile());
}

function contentOf(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
