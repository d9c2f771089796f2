import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { declaredStatuses, NOTES } from './contract.ts';

/** Runs before all tests, and answers with what runs after them: which parts of the contract did none reach? */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'exchanges-'));
  process.env[NOTES] = folder;
  return () => {
    const notes = readdirSync(folder).flatMap((file) =>
      readFileSync(join(folder, file), 'utf8').trim().split('\n'),
    );
    rmSync(folder, { recursive: true });
    if (isWholeRun()) judge(notes);
  };
}

/** A run of chosen files reaches what it reaches. */
function isWholeRun(): boolean {
  const chosen = process.argv.slice(2).filter((each) => each.startsWith('test/'));
  return chosen.every((each) => each.endsWith('config.ts'));
}

/** @throws Error that names what was not reached, or is excused without need */
function judge(notes: string[]): void {
  const reached = new Set(notes);
  const excuses = readFileSync(new URL('../unreached.yaml', import.meta.url), 'utf8');
  const excused = Object.keys((parse(excuses) as object | null) ?? {});
  const declared = declaredStatuses();
  const missing = declared.filter((each) => !reached.has(each) && !excused.includes(each));
  const needless = excused.filter((each) => reached.has(each) || !declared.includes(each));

  console.log(
    `\nContract: ${notes.length} exchanges validated, ` +
      `${declared.filter((each) => reached.has(each)).length} of ${declared.length} declared ` +
      `operations and statuses reached, ${excused.length} justified in test/unreached.yaml.`,
  );
  if (missing.length > 0) throw new Error(`No test reaches: ${missing.join(', ')}`);
  if (needless.length > 0) throw new Error(`Excused without need: ${needless.join(', ')}`);
}
