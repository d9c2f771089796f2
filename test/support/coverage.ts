import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject, Vitest } from 'vitest/node';
import { parse } from 'yaml';
import { declaredCodes, declaredStatuses, STATUSES_FOLDER } from './contract.ts';

/** Vitest calls this before all tests, and the returned teardown function after them. */
export default function setup({ vitest }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'statuses-'));
  process.env[STATUSES_FOLDER] = folder;
  return () => {
    const recorded = readdirSync(folder).flatMap((file) =>
      readFileSync(join(folder, file), 'utf8').trim().split('\n'),
    );
    rmSync(folder, { recursive: true });
    if (isWholeRun(vitest)) checkCoverage(recorded);
  };
}

/** Returns whether the run includes every file and every test. */
export function isWholeRun(vitest: Vitest): boolean {
  if (vitest.getGlobalTestNamePattern() !== undefined) return false;
  const { include, exclude, root } = vitest.config;
  const ran = new Set(vitest.state.getTestModules().map(({ moduleId }) => moduleId));
  return globSync(include, { cwd: root, exclude }).every((file) => ran.has(join(root, file)));
}

/**
 * Checks that the tests reached every declared status and code, and prints how many.
 * @param recorded one entry per validated exchange, and one per problem code in it
 * @throws Error if a declared status or code is neither reached nor listed in test/unreached.yaml, or listed there
 *   without need
 */
function checkCoverage(recorded: string[]): void {
  const reached = new Set(recorded);
  const exceptions = readFileSync(new URL('../unreached.yaml', import.meta.url), 'utf8');
  const excepted = Object.keys((parse(exceptions) as object | null) ?? {});
  const statuses = declaredStatuses();
  const codes = declaredCodes();
  const declared = [...statuses, ...codes];
  const missing = declared.filter((each) => !reached.has(each) && !excepted.includes(each));
  const unneeded = excepted.filter((each) => reached.has(each) || !declared.includes(each));
  const isReached = (each: string) => reached.has(each);

  console.log(
    `\nContract: ${recorded.filter((each) => statuses.includes(each)).length} exchanges validated, ` +
      `${statuses.filter(isReached).length} of ${statuses.length} declared statuses ` +
      `and ${codes.filter(isReached).length} of ${codes.length} declared codes reached, ` +
      `${excepted.length} justified in test/unreached.yaml.`,
  );
  if (missing.length > 0) throw new Error(`No test reaches: ${missing.join(', ')}`);
  if (unneeded.length > 0) {
    throw new Error(`Remove from test/unreached.yaml: ${unneeded.join(', ')}`);
  }
}
