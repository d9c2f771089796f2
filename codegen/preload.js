// Loaded before the programs that need the development dependencies. Plain JavaScript, because older versions of
// Node.js cannot run TypeScript.
import '../server/process/node-version.js';
import { requirePackage } from '../server/process/dependencies.js';

requirePackage('vite', 'The development dependencies are not installed. Run: npm ci');
