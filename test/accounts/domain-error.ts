import { DomainError } from '../../server/errors.ts';

/** Returns the DomainError that a function throws; undefined if it throws nothing. */
export function domainErrorOf(run: () => unknown): DomainError | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  return undefined;
}
