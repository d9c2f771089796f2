import { findRoute, type Operation } from '../server/contract.ts';
import { isPercentEncodedUtf8, malformedPath } from '../server/http/percent-encoding.ts';
import { methodNotAllowed, notFound } from '../server/http/problems.ts';

/** @throws HttpProblem if the path is malformed or unknown, or does not support the method */
export function findOperation(method: string, path: string): Operation {
  if (!isPercentEncodedUtf8(path)) throw malformedPath();
  const route = findRoute(path);
  if (route === undefined) throw notFound();
  const methods = route.operationsOfPath.map((each) => each.method);
  const operation = route.operationsOfPath[methods.indexOf(method === 'HEAD' ? 'GET' : method)];
  if (operation === undefined) {
    throw methodNotAllowed(method, methods.includes('GET') ? [...methods, 'HEAD'] : methods);
  }
  return operation;
}
