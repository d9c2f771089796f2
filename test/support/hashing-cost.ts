import { HASHING_COST } from '../../server/auth/password-hashing.ts';

const realCost = { ...HASHING_COST };

/** Hashes passwords as in production. Call it in a file whose tests depend on the cost. */
export function useRealHashingCost(): void {
  Object.assign(HASHING_COST, realCost);
}

/** Hashes passwords with the least memory. Otherwise, this would be a third of the processor time of all tests. */
export function reduceHashingCost(): void {
  Object.assign(HASHING_COST, { memoryCost: 8, timeCost: 1 });
}
