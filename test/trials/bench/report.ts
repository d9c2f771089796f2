import { cpus, release, totalmem } from 'node:os';

/** One line of the table: a measurement and its reference in the same run. */
export interface Figure {
  name: string;
  ours: string;
  reference: string;
  /** The value to compare with the target: a ratio, or our measurement itself. */
  value: number;
  unit: '%' | 'x' | 'µs' | 'ms' | 's' | 'MB' | 'records/s';
  /** Minimum and maximum of what the figure summarises: rounds, queries or samples. */
  spread?: [number, number];
  target?: { min: number } | { max: number };
  note?: string;
}

/** A table with a number for every column. */
export interface Comparison {
  id:
    | 'postgres'
    | 'engines'
    | 'growth of medians'
    | 'growth of tails'
    | 'writing'
    | 'pocketbase'
    | 'databases, medians'
    | 'databases, tails'
    | 'databases, size'
    | 'databases, creation';
  title: string;
  columns: string[];
  rows: { name: string; values: number[]; note?: string }[];
}

export interface Results {
  measuredAt: string;
  spaces: number;
  machine: string;
  versions: Record<string, string>;
  figures: Figure[];
  comparisons: Comparison[];
}

export function machine(): string {
  const [first] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} x ${first?.model.trim()}, ${memory} GB, Linux ${release()}`;
}

/** Returns JSON with each figure and each comparison on one line, so that the difference of two runs is readable. */
export function formatResults({ figures, comparisons, ...run }: Results): string {
  const list = (items: readonly object[]) =>
    `[\n${items.map((each) => `    ${JSON.stringify(each)}`).join(',\n')}\n  ]`;
  const head = JSON.stringify(run, null, 2).slice(0, -2);
  return `${head},\n  "figures": ${list(figures)},\n  "comparisons": ${list(comparisons)}\n}\n`;
}

/** Returns whether a figure reaches its target; undefined without a target. */
function isTargetReached({ value, target }: Figure): boolean | undefined {
  if (!target) return undefined;
  return 'min' in target ? value >= target.min : value <= target.max;
}

/**
 * Prints the figures as a table.
 * @param showsTargets whether to say which targets are reached; targets are for a million spaces
 */
export function printFigures(figures: readonly Figure[], showsTargets: boolean): void {
  const rows = figures.map((figure) => {
    const { name, ours, reference, value, unit, spread, target } = figure;
    const reached = isTargetReached(figure);
    return [
      name,
      ours,
      reference,
      formatAmount(value, unit),
      spread ? `${formatAmount(spread[0], unit)} .. ${formatAmount(spread[1], unit)}` : '',
      target
        ? 'min' in target
          ? `>= ${formatAmount(target.min, unit)}`
          : `<= ${formatAmount(target.max, unit)}`
        : '',
      !showsTargets || reached === undefined ? '' : reached ? 'yes' : 'NO',
    ];
  });
  printTable(['', 'measured', 'reference', 'figure', 'spread', 'target', 'reached'], rows);
  for (const { name, note } of figures) if (note) console.log(`  ${name}: ${note}`);
}

export function printComparison({ title, columns, rows }: Comparison): void {
  console.log(`\n${title}`);
  printTable(
    ['', ...columns, ''],
    rows.map(({ name, values, note }) => [name, ...values.map(formatNumber), note ?? '']),
  );
}

function printTable(head: string[], rows: string[][]): void {
  const widths = head.map((text, i) =>
    Math.max(text.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const lines = [head, widths.map((width) => '-'.repeat(width)), ...rows];
  for (const line of lines) {
    const cells = line.map((text, i) => {
      const width = widths[i] as number;
      return i === 0 ? text.padEnd(width) : text.padStart(width);
    });
    console.log(cells.join('  ').trimEnd());
  }
}

/** Formats a number with its unit. */
function formatAmount(value: number, unit: Figure['unit']): string {
  return `${formatNumber(value)} ${unit}`;
}

export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return value >= 100
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(value >= 10 ? 3 : 2)));
}

export function formatSpaces(spaces: number): string {
  return spaces >= 1_000_000 ? `${spaces / 1_000_000}M` : `${spaces / 1_000}k`;
}
