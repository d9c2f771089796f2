/** Returns the value below which this part of the numbers lies. */
export function quantile(numbers: Iterable<number>, part: number): number {
  const sorted = Float64Array.from(numbers).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

export function median(numbers: Iterable<number>): number {
  return quantile(numbers, 0.5);
}

/** Returns the minimum and the maximum. */
export function rangeOf(numbers: readonly number[]): [number, number] {
  return [Math.min(...numbers), Math.max(...numbers)];
}

/** Alternates between two functions, so that a slow phase of the machine affects both. */
export async function byTurns<A, B>(
  rounds: number,
  one: () => Promise<A>,
  other: () => Promise<B>,
): Promise<[A, B][]> {
  const pairs: [A, B][] = [];
  for (let i = 0; i < rounds; i += 1) pairs.push([await one(), await other()]);
  return pairs;
}
