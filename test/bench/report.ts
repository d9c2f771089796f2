import { cpus, release, totalmem } from 'node:os';

/** One line of the table: a measurement and its reference in the same run. */
export interface Figure {
  what: string;
  ours: string;
  reference: string;
  /** The value to judge: a ratio, or ours itself. */
  value: number;
  unit: '%' | 'x' | 'ms' | 's' | 'MB' | 'records/s';
  /** Minimum and maximum of the rounds. */
  spread?: [number, number];
  wanted?: { least: number } | { most: number };
  note?: string;
}

/** A table with a number for every column. */
export interface Comparison {
  id: 'postgres' | 'engines' | 'growth of medians' | 'growth of tails' | 'writing' | 'pocketbase';
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

/** Whether a figure reaches its target; undefined without one. */
export function isReached({ value, wanted }: Figure): boolean | undefined {
  if (!wanted) return undefined;
  return 'least' in wanted ? value >= wanted.least : value <= wanted.most;
}

/**
 * Prints the table.
 * @param judged whether to say which targets are reached; targets are for a million spaces
 */
export function printFigures(figures: readonly Figure[], judged: boolean): void {
  const rows = figures.map((figure) => {
    const { what, ours, reference, value, unit, spread, wanted } = figure;
    const reached = isReached(figure);
    return [
      what,
      ours,
      reference,
      amount(value, unit),
      spread ? `${amount(spread[0], unit)} .. ${amount(spread[1], unit)}` : '',
      wanted
        ? 'least' in wanted
          ? `>= ${amount(wanted.least, unit)}`
          : `<= ${amount(wanted.most, unit)}`
        : '',
      !judged || reached === undefined ? '' : reached ? 'yes' : 'NO',
    ];
  });
  printTable(['', 'measured', 'reference', 'figure', 'spread', 'wanted', 'reached'], rows);
  for (const { what, note } of figures) if (note) console.log(`  ${what}: ${note}`);
}

export function printComparison({ title, columns, rows }: Comparison): void {
  console.log(`\n${title}`);
  printTable(
    ['', ...columns, ''],
    rows.map(({ name, values, note }) => [name, ...values.map(rounded), note ?? '']),
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

/** Formats a number with its unit, to three digits. */
export function amount(value: number, unit: Figure['unit']): string {
  return unit === '%' || unit === 'x'
    ? `${rounded(value)}${unit === 'x' ? ' x' : ' %'}`
    : `${rounded(value)} ${unit}`;
}

export function rounded(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return value >= 100
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(value >= 10 ? 3 : 2)));
}
