#!/usr/bin/env node
import { runCommand } from './command.ts';

process.exitCode = await runCommand({ name: 'space-service-contract' }, process.argv.slice(2));
