import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { parse } from 'yaml';
import { declaredStatuses, NOTES } from './contract.ts';

/** Runs before and after all tests: which parts of the contract did no test reach? */
export function setup(): void {
  rmSync(NOTES, { recursive: true, force: true });
}

export function teardown(): void {
  // A run of chosen files reaches what it reaches.
  const isWhole = !process.argv
    .slice(2)
    .some((each) => each.startsWith('test/') && !each.endsWith('config.ts'));
  if (!isWhole) return;
  const notes = readdirSync(NOTES).flatMap((file) =>
    readFileSync(`${NOTES}/${file}`, 'utf8').trim().split('\n'),
  );
  const reached = new Set(notes);
  const excused = Object.keys(
    (parse(readFileSync(new URL('../unreached.yaml', import.meta.url), 'utf8')) as object | null) ??
      {},
  );
  const declared = declaredStatuses();
  const missing = declared.filter((each) => !reached.has(each) && !excused.includes(each));
  const needless = excused.filter((each) => reached.has(each) || !declared.includes(each));

  console.log(
    `\nContract: ${notes.length} exchanges validated, ${declared.filter((each) => reached.has(each)).length} of ` +
      `${declared.length} declared operations and statuses reached, ${excused.length} justified in test/unreached.yaml.`,
  );
  if (missing.length > 0) throw new Error(`No test reaches: ${missing.join(', ')}`);
  if (needless.length > 0)
    throw new Error(`Not to be excused in test/unreached.yaml: ${needless.join(', ')}`);
}
