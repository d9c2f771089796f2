import module from 'node:module';
import { fileURLToPath } from 'node:url';

// Loaded before anything else, and in plain JavaScript: what it refuses cannot read TypeScript.
const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  console.error(
    `space-service needs Node.js 24 or newer, and this is ${process.version}. "npm ci" brings it along, "npm ci --omit=dev" does not.`,
  );
  process.exit(1);
}

// What was compiled once is kept, where this folder can be written to: the next start takes a tenth less. Not in the
// system's folder for temporary files, where others might put something in its place.
module.enableCompileCache(
  fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)),
);
