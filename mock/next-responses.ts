import { type Operation, operations } from '../server/contract.ts';
import { HttpProblem, notFound } from '../server/http/problems.ts';
import type { Selection } from './prism.ts';

/** What a header `Prefer` demands of a response. */
export interface Preferences {
  /** Undefined for the usual response. */
  selection: Selection | undefined;
  delayMs: number;
}

/** Preferences for the next requests of operations, which a client cannot set in a header of the request itself. */
export interface NextResponses {
  /**
   * Adds the preferences for one request of an operation, after those that were added before.
   * @throws HttpProblem if the contract does not have the operation or the selected example, or without preferences
   */
  add(operationId: string, preferences: Preferences): void;
  /** Returns and removes those for a request of an operation. Undefined without any. */
  take(operationId: string | undefined): Preferences | undefined;
  clear(): void;
}

export function openNextResponses(): NextResponses {
  const queues = new Map<string, Preferences[]>();
  return {
    add(operationId, preferences) {
      const operation = operations.find((each) => each.operationId === operationId);
      if (!operation) throw notFound();
      const { selection, delayMs } = preferences;
      if (selection && !hasResponse(operation, selection)) throw noSuchResponse(selection);
      if (!selection && delayMs === 0) {
        const detail = 'The header Prefer must contain code=STATUS or delay-ms=MILLISECONDS.';
        throw new HttpProblem('invalid_request', detail);
      }
      queues.set(operationId, [...(queues.get(operationId) ?? []), preferences]);
    },
    take: (operationId = '') => queues.get(operationId)?.shift(),
    clear: () => queues.clear(),
  };
}

/** Returns whether the contract has an example. */
export function hasResponse(
  operation: Operation | undefined,
  { code = 200, example }: Selection,
): boolean {
  const [media] = Object.values(operation?.responses[code]?.content ?? {});
  return media !== undefined && (example === undefined || example in (media.examples ?? {}));
}

/** The problem of a selection that an operation does not have. */
export function noSuchResponse({ code, example }: Selection): HttpProblem {
  const response = `code=${code}${example === undefined ? '' : `, example=${example}`}`;
  return new HttpProblem('invalid_request', `The operation has no response with ${response}.`);
}
