import { DomainError } from '../errors.ts';

/** The parameters that select a list of public spaces. */
export interface ListChoice {
  q?: unknown;
  tag?: unknown;
  sort?: unknown;
  /** Whether the request has `as_typed=true`. */
  asTyped: boolean;
}

/** @throws DomainError `invalid_request` unless at most one list is selected */
export function assertOneList({ q, tag, sort, asTyped }: ListChoice): void {
  if (q !== undefined && tag !== undefined) reject('tag', 'cannot be combined with q');
  if (sort !== undefined && q !== undefined) reject('sort', 'cannot be combined with q');
  if (sort !== undefined && tag !== undefined) reject('sort', 'cannot be combined with tag');
  if (asTyped && q === undefined) reject('as_typed', 'requires q');
}

function reject(name: string, message: string): never {
  throw new DomainError('invalid_request', `The request is invalid: ${name} ${message}.`, [
    { in: 'query', pointer: name, code: 'conflicting', message },
  ]);
}
