import { stoppingError } from '../errors.ts';

const NOT_READY = 'The search index is being built or repaired.';

/** An error for which `Engine.isUnavailable` returns true. */
export function notReady(): Error {
  return stoppingError(NOT_READY);
}

export function isNotReady(error: unknown): boolean {
  return error instanceof Error && error.message === NOT_READY;
}
