import type { Result } from './dredd.ts';
import { isNotImplemented } from './exchange.ts';

/** Many servers return these before they look for the operation, for example from middleware. */
const EARLY_STATUSES = [401, 413, 415, 429, 431];

/** Returns the operations that the server does not implement, each with a result that shows it. */
export function findMissingOperations(results: Result[]): Map<string, Result> {
  const missing = new Map<string, Result>();
  for (const [operationId, group] of Map.groupBy(results, ({ transaction }) =>
    operationIn(transaction.id),
  )) {
    const responses = group.flatMap(({ transaction: { real } }) => real ?? []);
    const isAbsent = responses.every(
      ({ statusCode, body }) =>
        EARLY_STATUSES.includes(statusCode) || isNotImplemented(statusCode, body),
    );
    // A server with a route for the operation may check the parameters before it returns 501.
    const isDeclined = responses.some(({ statusCode }) => statusCode === 501);
    const evidence = group.find(
      ({ transaction: { real } }) => real && isNotImplemented(real.statusCode, real.body),
    );
    if (evidence && (isAbsent || isDeclined)) missing.set(operationId, evidence);
  }
  return missing;
}

/** Returns the operation at the beginning of the name of a check. */
export function operationIn(name: string): string {
  return /^\w*/.exec(name)?.[0] ?? '';
}
