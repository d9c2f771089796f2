/** Returns a whole number from 0 to `below - 1`. */
export type Random = (below: number) => number;

/** Returns a generator (mulberry32) whose numbers are the same in every run. */
export function randomNumbers(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}
