import { randomNumbers as randomFractions } from '../../server/sample/random.ts';

/** Returns a whole number from 0 to `below - 1`. */
export type Random = (below: number) => number;

/** Returns a generator whose numbers are the same in every run. */
export function randomNumbers(seed: number): Random {
  const random = randomFractions(seed);
  // Each fraction is a multiple of 2 ** -32, so the product is a whole number.
  return (below) => (random() * 2 ** 32) % below;
}
