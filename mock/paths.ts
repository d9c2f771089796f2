import { type Operation, operations } from '../server/contract.ts';
import { isPercentEncodedUtf8, malformedPath } from '../server/http/percent-encoding.ts';
import { methodNotAllowed, notFound } from '../server/http/problems.ts';

/** Paths without parameters are first, because `/api/spaces/{space_id}` also matches `/api/spaces/search`. */
const routes = [...Map.groupBy(operations, ({ path }) => path)]
  .sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
  .map(([path, operationsAtPath]) => ({
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]*')}$`),
    operationsAtPath,
  }));

/** @throws HttpProblem if the path is malformed or unknown, or does not support the method */
export function findOperation(method: string, path: string): Operation {
  if (!isPercentEncodedUtf8(path)) throw malformedPath();
  const route = routes.find(({ pattern }) => pattern.test(path));
  if (route === undefined) throw notFound();
  const methods = route.operationsAtPath.map((each) => each.method);
  const operation = route.operationsAtPath[methods.indexOf(method === 'HEAD' ? 'GET' : method)];
  if (operation === undefined) {
    throw methodNotAllowed(method, methods.includes('GET') ? [...methods, 'HEAD'] : methods);
  }
  return operation;
}
