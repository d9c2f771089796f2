import { findRoute } from '../server/contract.ts';
import type { Result } from './dredd.ts';

/**
 * Returns whether a response shows that the server does not implement the operation: 405, 501, or a 404 without the
 * code of a missing resource, such as `space_not_found`.
 */
export function isNotImplemented(status: number, body: string): boolean {
  if (status !== 404) return status === 405 || status === 501;
  const [, code] = /"code"\s*:\s*"(\w+)"/.exec(body) ?? [];
  return code === undefined || code === 'not_found';
}

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
  return name.split(' ', 1)[0] as string;
}

/** Returns the operation of a request of the generated client. */
export function operationOf({ method, url }: Request): string {
  const { pathname } = new URL(url);
  // The URL of the server can have a path, too.
  const operation = [...pathname.matchAll(/(?=\/api\/)/g)]
    .flatMap(({ index }) => findRoute(pathname.slice(index))?.operationsOfPath ?? [])
    .find((each) => each.method === method);
  if (!operation) throw new Error(`The contract has no ${method} ${pathname}`);
  return operation.operationId;
}
