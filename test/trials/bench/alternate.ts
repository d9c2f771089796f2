/** Runs two functions in turn, so that a slow phase of the machine affects both. */
export async function alternate<A, B>(
  rounds: number,
  one: () => Promise<A>,
  other: () => Promise<B>,
): Promise<[A, B][]> {
  const pairs: [A, B][] = [];
  for (let i = 0; i < rounds; i += 1) pairs.push([await one(), await other()]);
  return pairs;
}
