import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject, Vitest } from 'vitest/node';
import { parse } from 'yaml';
import { declaredCodes, declaredStatuses, NOTES } from './contract.ts';

/** Runs before all tests. The function it returns runs after them and checks which statuses and codes they reached. */
export default function setup({ vitest }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'exchanges-'));
  process.env[NOTES] = folder;
  return () => {
    const notes = readdirSync(folder).flatMap((file) =>
      readFileSync(join(folder, file), 'utf8').trim().split('\n'),
    );
    rmSync(folder, { recursive: true });
    if (isWholeRun(vitest)) judge(notes);
  };
}

/** Whether no file and no test was filtered out. */
export function isWholeRun(vitest: Vitest): boolean {
  if (vitest.getGlobalTestNamePattern() !== undefined) return false;
  const { include, root } = vitest.config;
  const ran = new Set(vitest.state.getTestModules().map(({ moduleId }) => moduleId));
  return globSync(include, { cwd: root }).every((file) => ran.has(join(root, file)));
}

/** @throws Error if a declared status or code was not reached, or is excused although it was */
function judge(notes: string[]): void {
  const reached = new Set(notes);
  const excuses = readFileSync(new URL('../unreached.yaml', import.meta.url), 'utf8');
  const excused = Object.keys((parse(excuses) as object | null) ?? {});
  const statuses = declaredStatuses();
  const codes = declaredCodes();
  const declared = [...statuses, ...codes];
  const missing = declared.filter((each) => !reached.has(each) && !excused.includes(each));
  const needless = excused.filter((each) => reached.has(each) || !declared.includes(each));
  const isReached = (each: string) => reached.has(each);

  console.log(
    `\nContract: ${notes.filter((each) => statuses.includes(each)).length} exchanges validated, ` +
      `${statuses.filter(isReached).length} of ${statuses.length} declared operations and statuses ` +
      `and ${codes.filter(isReached).length} of ${codes.length} declared codes reached, ` +
      `${excused.length} justified in test/unreached.yaml.`,
  );
  if (missing.length > 0) throw new Error(`No test reaches: ${missing.join(', ')}`);
  if (needless.length > 0)
    throw new Error(`Remove from test/unreached.yaml: ${needless.join(', ')}`);
}
