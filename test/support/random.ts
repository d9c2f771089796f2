import { randomNumbers } from '../../server/sample/random.ts';

/** Returns a whole number from 0 to `below - 1`. */
export type RandomInteger = (below: number) => number;

/** Returns a generator whose integers are the same for the same seed. */
export function randomIntegers(seed: number): RandomInteger {
  const random = randomNumbers(seed);
  // Each fraction is a multiple of 2 ** -32, so the product is a whole number.
  return (below) => (random() * 2 ** 32) % below;
}
