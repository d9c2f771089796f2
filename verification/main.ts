#!/usr/bin/env node
// First, because it exits with an explanation on versions of Node.js that cannot run the other modules.
import './node-version.js';

// Not a static import, because Node.js parses those first, and older versions fail at newer syntax.
const { runCommand } = await import('./command.ts');
process.exitCode = await runCommand({ name: 'space-service-contract' }, process.argv.slice(2));
