import { afterAll } from 'vitest';
import { killProcesses } from './processes.ts';

// A test that times out does not dispose of what it started.
afterAll(killProcesses);
