/** Returns the keys of both lists, each once. The lists are in ascending order, and so is the result. */
export function mergeKeys(a: readonly number[], b: readonly number[]): readonly number[] {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const merged: number[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i] ?? Infinity, b[j] ?? Infinity];
    merged.push(Math.min(left, right));
    if (left <= right) i += 1;
    if (right <= left) j += 1;
  }
  return merged;
}
