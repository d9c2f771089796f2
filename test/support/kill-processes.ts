import { afterAll } from 'vitest';
import { killProcesses } from './processes.ts';

// A test that times out never disposes of its processes.
afterAll(killProcesses);
