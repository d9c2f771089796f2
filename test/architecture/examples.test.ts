import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const MAX_LINES = 150;

const programs = globSync('examples/{python,go}/*.{py,go}').map(
  (file) => [file, readFileSync(file, 'utf8')] as const,
);

const page = readFileSync('docs/bots.md', 'utf8');
const snippets = [...page.matchAll(/^```(?:python|go)\n(.*?)^```$/gms)].map(
  ([, code = '']) => code,
);

test.each(snippets)('docs/bots.md has the code of an example: %s', (snippet) => {
  // Functions between two snippets of one block are left out.
  for (const part of snippet.split('\n\n\n')) {
    expect(programs.some(([, code]) => code.includes(part.trim()))).toBe(true);
  }
});

test('docs/bots.md has code in Python and Go', () => {
  expect(page).toMatch(/^```python$/m);
  expect(page).toMatch(/^```go$/m);
});

test.each(programs)('%s is short enough to be read', (_, code) => {
  expect(code.split('\n').length - 1).toBeLessThanOrEqual(MAX_LINES);
});
