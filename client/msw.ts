import { type HttpHandler, HttpResponse, http as msw } from 'msw';
import { examples, type OperationTypes } from '../generated/examples.gen.ts';
import type { OperationProblemCodes } from '../generated/problem-codes.gen.ts';

type Operation = keyof OperationTypes;
type ResponseBody<O extends Operation> = OperationTypes[O]['response'];

/** A request that a handler responds to. */
export interface MockedRequest<O extends Operation> {
  request: Request;
  path: NonNullable<OperationTypes[O]['data']['path']>;
  query: URLSearchParams;
  /** The JSON body; undefined without one. */
  body: OperationTypes[O]['data']['body'];
}

/** What a handler responds with: a body, or a `Response` such as `HttpResponse.error()`, which is a failed network. */
type Resolver<O extends Operation> = (
  request: MockedRequest<O>,
) => ResponseBody<O> | Response | Promise<ResponseBody<O> | Response>;

/** Creates handlers for Mock Service Worker. They match any base URL. */
export const http = {
  /** Responds to an operation with the body of success, or with what a function returns. */
  respond<O extends Operation>(operation: O, response: ResponseBody<O> | Resolver<O>): HttpHandler {
    const { status } = successOf(operation);
    return handle(operation, async (request) => {
      const body = typeof response === 'function' ? await response(request) : response;
      return body instanceof Response ? body : HttpResponse.json(body, { status });
    });
  },

  /**
   * Responds to an operation with one of its documented errors.
   * @param code the error, if the operation has several with this status; by default the first of them
   * @throws TypeError if the operation has no error with this status and code
   */
  problem<O extends Operation>(
    operation: O,
    status: OperationTypes[O]['errorStatus'],
    code?: OperationProblemCodes[O],
  ): HttpHandler {
    const found = Object.values(examples[operation].problems).find(
      (problem) => problem.status === status && (code ?? problem.body.code) === problem.body.code,
    );
    if (!found)
      throw new TypeError(`${operation} has no error ${code ?? ''} with status ${status}.`);
    return handle(operation, () => HttpResponse.json(found.body, found));
  },
};

/** Handlers of all operations, which respond with the examples of the contract. */
export const handlers: HttpHandler[] = (Object.keys(examples) as Operation[]).map((operation) =>
  handle(operation, ({ query }) => {
    // Every list has two pages.
    const isLastPage = 'last' in examples[operation].successes && query.has('cursor');
    const { status, headers, body } = successOf(operation, isLastPage ? 'last' : undefined);
    const { Link, ...others } = headers;
    const after = query.get('after');
    // Nothing happens after the examples.
    const empty = { items: [], next_cursor: null, newer_cursor: after };
    const isUnlinked = isLastPage || after !== null;
    return HttpResponse.json(after === null ? body : { ...body, ...empty }, {
      status,
      headers: isUnlinked ? others : headers,
    });
  }),
);

/**
 * Returns a copy of the contract's example of a response.
 * @param name of one of several examples, such as `last` for the last page of a list; by default the first of them
 */
export function fixture<O extends Operation>(
  operation: O,
  name?: OperationTypes[O]['successExample'],
): ResponseBody<O> {
  return structuredClone(successOf(operation, name).body as ResponseBody<O>);
}

/** @throws TypeError if the operation has no example with this name */
function successOf(operation: Operation, name?: string) {
  const successes = Object.entries(examples[operation].successes);
  const [, found] = successes.find(([each]) => each === (name ?? each)) ?? [];
  if (!found) throw new TypeError(`${operation} has no example ${name}.`);
  return found;
}

function handle<O extends Operation>(
  operation: O,
  respond: (request: MockedRequest<O>) => Response | Promise<Response>,
): HttpHandler {
  return msw.all(
    ({ request }) => {
      const found = findOperation(request);
      return { matches: found?.operation === operation, params: found?.path ?? {} };
    },
    async ({ request, params }) => {
      const isJson = request.headers.get('Content-Type') === 'application/json';
      const body = isJson ? await request.clone().json() : undefined;
      const { searchParams: query } = new URL(request.url);
      return respond({ request, path: params, query, body } as MockedRequest<O>);
    },
  );
}

function findOperation({ method, url }: Request) {
  const { pathname } = new URL(url);
  for (const [operation, example] of Object.entries(examples)) {
    const match = example.method === method && example.pathname.exec(pathname);
    if (!match) continue;
    const path = Object.entries(match.groups ?? {}).map(([name, value]) => [
      name,
      decodeURIComponent(value),
    ]);
    return { operation, path: Object.fromEntries(path) };
  }
  return undefined;
}
