import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MAX_UNSENT_BYTES } from '../../server/http/unsent-responses.ts';
import { MAX_PENDING_BYTES } from '../../server/http/uploads.ts';

const MEGABYTE = 1_000_000;

// Measured, each in a process of its own.
const PROCESS_UNDER_LOAD = 300 * MEGABYTE;
const LARGEST_RENDERING = 611 * MEGABYTE;
const ORDINARY_RENDERING = 126 * MEGABYTE;
// Three at a time, with 19 MiB each.
const PASSWORD_HASHING = 60 * MEGABYTE;

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const unit = read('deploy/space-service.service');
const megabytesIn = (text: string, pattern: RegExp) =>
  Number(pattern.exec(text)?.[1] ?? Number.NaN) * MEGABYTE;

const worker = PROCESS_UNDER_LOAD + MAX_PENDING_BYTES + MAX_UNSENT_BYTES + PASSWORD_HASHING;

test('The systemd unit allows the memory that one process needs at most', () => {
  const allowed = megabytesIn(unit, /^MemoryMax=(\d+)M$/m);
  expect(allowed).toBeGreaterThan(worker + LARGEST_RENDERING + ORDINARY_RENDERING);
});

test('The documents state the memory that each further worker needs at most', () => {
  const inUnit = megabytesIn(unit, /Add (\d+) MB for each worker/);
  expect(inUnit).toBeGreaterThan(worker);
  expect(inUnit).toBe(megabytesIn(read('docs/scaling.md'), /up to (\d+) MB of memory per worker/));
});
