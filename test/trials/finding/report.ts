import { median } from '../../support/statistics.ts';
import type { Outcome } from './evaluation.ts';
import { HALVES } from './queries.ts';

const MOST_EXPENSIVE = 10;

/** Prints hits by class and half, the most expensive queries, and the misses with their first results. */
export function printReport(outcomes: readonly Outcome[]): void {
  const classes = Map.groupBy(outcomes, (outcome) => outcome.class);
  printTable(
    ['class', ...HALVES, 'both', 'CPU median (ms)', 'CPU max (ms)'],
    [...classes, ['all', outcomes] as const].map(([name, members]) => [
      name,
      ...HALVES.map((half) => hitsOf(members.filter((each) => each.half === half))),
      hitsOf(members),
      milliseconds(median(members.map(({ cpu }) => cpu.median))),
      milliseconds(Math.max(...members.map(({ cpu }) => cpu.max))),
    ]),
  );

  console.log('\nMost expensive queries\n');
  const byCost = outcomes.toSorted((a, b) => b.cpu.median - a.cpu.median);
  printTable(
    ['query', 'class', 'CPU median (ms)', 'CPU max (ms)'],
    byCost
      .slice(0, MOST_EXPENSIVE)
      .map(({ query, class: className, cpu }) => [
        query,
        className,
        milliseconds(cpu.median),
        milliseconds(cpu.max),
      ]),
  );

  console.log('\nMisses, with the first results\n');
  for (const { class: className, half, query, rank, titles } of outcomes) {
    if (rank !== null) continue;
    const found = titles.length === 0 ? 'nothing' : titles.slice(0, 3).join(', ');
    console.log(`- ${className} (${half}): ${query} -> ${found}`);
  }
}

function hitsOf(outcomes: readonly Outcome[]): string {
  const hits = outcomes.filter(({ rank }) => rank !== null).length;
  if (outcomes.length === 0) return '-';
  return `${hits}/${outcomes.length} (${Math.round((100 * hits) / outcomes.length)} %)`;
}

function milliseconds(value: number): string {
  return value.toFixed(2);
}

/** Prints a Markdown table, which can be pasted into a document. */
function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const rule = head.map((_, i) => (i === 0 ? '---' : '---:'));
  for (const cells of [head, rule, ...rows]) console.log(`| ${cells.join(' | ')} |`);
}
