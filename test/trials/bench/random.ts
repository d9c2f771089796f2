import { randomNumbers } from '../../../server/sample/random.ts';

/** A random number from 0 up to but not including 1. */
export type Random = () => number;

/** Returns a generator of random numbers. The seed is hashed, because the data uses consecutive seeds. */
export function seededRandom(seed: number): Random {
  return randomNumbers(hash(seed));
}

/** Mixes one or two integers into 32 bits. */
export function hash(a: number, b = 0): number {
  let mixed = Math.imul(a ^ 0x5bd1e995, 0x9e3779b1) ^ Math.imul(b + 0x7f4a7c15, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return (mixed ^ (mixed >>> 15)) | 0;
}

export function hashOfText(text: string): number {
  let mixed = 0;
  for (let i = 0; i < text.length; i += 1) mixed = hash(mixed, text.charCodeAt(i));
  return mixed;
}

/** Returns a function that turns a random number into a rank from 0 to `count` - 1, by Zipf's law. */
export function zipf(count: number, exponent: number): (at: number) => number {
  return weightedIndex(Array.from({ length: count }, (_, rank) => (rank + 1) ** -exponent));
}

/** Returns a function that turns a random number into an index, by the weights of the indexes. */
export function weightedIndex(weights: readonly number[]): (at: number) => number {
  const sums = new Float64Array(weights.length);
  let sum = 0;
  for (const [i, weight] of weights.entries()) {
    sum += weight;
    sums[i] = sum;
  }
  return (at) => {
    let [low, high] = [0, weights.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) < at * sum) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/**
 * Returns a function that turns a random number into a rank without an upper limit, so that a vocabulary grows with
 * the text. The weights fall by `exponent` until the rank `bend` and by `tail` after it, as in large corpora (Gerlach
 * and Altmann, "Stochastic model for the vocabulary growth in natural languages", 2013).
 */
export function endlessZipf({
  exponent,
  shift,
  bend,
  tail,
}: {
  exponent: number;
  shift: number;
  bend: number;
  tail: number;
}): (at: number) => number {
  const weights = Array.from({ length: bend }, (_, rank) => (rank + 1 + shift) ** -exponent);
  const tailSum = ((bend + 1 + shift) ** -exponent * bend) / (tail - 1);
  const tailShare = tailSum / (tailSum + weights.reduce((a, b) => a + b));
  const headRank = weightedIndex(weights);
  return (at) => {
    if (at >= tailShare) return headRank((at - tailShare) / (1 - tailShare));
    return Math.min(2 ** 31 - 1, Math.floor(bend * (at / tailShare) ** (-1 / (tail - 1))));
  };
}
