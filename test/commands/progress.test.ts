import { expect, test } from 'vitest';
import { describeProgress } from '../../server/command-line/progress.ts';

test.each([
  [{ lines: 2, seconds: 0.5, bytes: 100, totalBytes: 200 }, '2 lines'],
  [{ lines: 1_000, seconds: 2, bytes: 100 }, '1,000 lines, 500 per second'],
  [
    { lines: 50_000, seconds: 2, bytes: 1_000, totalBytes: 4_100 },
    '50,000 lines, 25,000 per second, about 7 s left',
  ],
  [
    { lines: 50_000, seconds: 10, bytes: 1_000, totalBytes: 13_100 },
    '50,000 lines, 5,000 per second, about 3 min left',
  ],
  // The file has grown meanwhile.
  [
    { lines: 10, seconds: 10, bytes: 1_000, totalBytes: 900 },
    '10 lines, 1 per second, about 0 s left',
  ],
])('The progress %j is described as %j', (progress, text) => {
  expect(describeProgress(progress)).toBe(text);
});
