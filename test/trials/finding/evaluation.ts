import { readFileSync } from 'node:fs';
import { median } from '../../support/statistics.ts';
import type { Half, Query } from './queries.ts';
import type { SearchEngine } from './service.ts';

/** A query is a hit if one of its answers is among this many results. */
const HIT_DEPTH = 10;
const WARM_UP_RUNS = 3;
const TIMED_RUNS = 20;

/** The result of a query. */
export interface Outcome {
  class: string;
  half: Half;
  query: string;
  /** Position of the first acceptable answer, from 1; null if none is among the first results. */
  rank: number | null;
  /** Titles of the first results. */
  titles: string[];
  cpu: Cost;
}

/** Milliseconds of processor time of the thread that runs the engine. */
export interface Cost {
  median: number;
  max: number;
}

/** Runs every query once for its rank, and then repeatedly for its cost. */
export async function evaluate(
  engine: SearchEngine,
  queries: readonly Query[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { text, class: className, half, answers } of queries) {
    const titles = await engine.search(text, HIT_DEPTH);
    const position = titles.findIndex((title) => answers.includes(title));
    outcomes.push({
      class: className,
      half,
      query: text,
      rank: position === -1 ? null : position + 1,
      titles,
      cpu: { median: Number.NaN, max: Number.NaN },
    });
  }
  // All queries have run once by now, so the code is compiled for the first measurement, too.
  for (const outcome of outcomes) outcome.cpu = await measureCost(engine, outcome.query);
  return outcomes;
}

/**
 * Measures the processor time of a query on this thread, without HTTP parsing and transport. Each run requests another
 * number of results, because the service caches responses by query and number of results. Timed runs request 11 to 30,
 * warm-up runs more.
 */
export async function measureCost(engine: SearchEngine, text: string): Promise<Cost> {
  const milliseconds: number[] = [];
  for (let run = -WARM_UP_RUNS; run < TIMED_RUNS; run += 1) {
    const limit = HIT_DEPTH + 1 + (run < 0 ? TIMED_RUNS - 1 - run : run);
    const before = threadCpuMs();
    await engine.search(text, limit);
    if (run >= 0) milliseconds.push(threadCpuMs() - before);
  }
  return { median: median(milliseconds), max: Math.max(...milliseconds) };
}

/** Returns the processor time of this thread. `process.threadCpuUsage` has only the resolution of kernel ticks. */
function threadCpuMs(): number {
  // Makes the kernel update the file.
  process.cpuUsage();
  const [nanoseconds] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}
