/** The value below which so large a part of the numbers lies. */
export function quantile(numbers: Iterable<number>, part: number): number {
  const sorted = Float64Array.from(numbers).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

export function median(numbers: Iterable<number>): number {
  return quantile(numbers, 0.5);
}

/** The least and the greatest. */
export function rangeOf(numbers: readonly number[]): [number, number] {
  return [Math.min(...numbers), Math.max(...numbers)];
}

/** Runs one and the other by turns: what slows the machine for a while slows both. */
export async function byTurns<A, B>(
  rounds: number,
  one: () => Promise<A>,
  other: () => Promise<B>,
): Promise<[A, B][]> {
  const pairs: [A, B][] = [];
  for (let i = 0; i < rounds; i += 1) pairs.push([await one(), await other()]);
  return pairs;
}
