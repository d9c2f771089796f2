/** Returns the quantile of the numbers at a probability from 0 to 1, such as 0.99. */
export function quantile(numbers: Iterable<number>, probability: number): number {
  const sorted = Float64Array.from(numbers).sort();
  const index = Math.min(sorted.length - 1, Math.floor(probability * sorted.length));
  return sorted[index] ?? Number.NaN;
}

export function median(numbers: Iterable<number>): number {
  return quantile(numbers, 0.5);
}

/** Returns the minimum and the maximum. */
export function rangeOf(numbers: readonly number[]): [number, number] {
  return [Math.min(...numbers), Math.max(...numbers)];
}
