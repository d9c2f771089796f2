import { createInstance, getHttpOperationsFromSpec } from '@stoplight/prism-http';
import { pino } from 'pino';

/** An example of a response in the contract. */
export interface Selection {
  /** The HTTP status, named as in `Prefer: code=409`. By default, the one of success. */
  code?: number;
  /** Name of the example, if the response has several. */
  example?: string | undefined;
}

export interface PrismRequest {
  method: string;
  url: URL;
  authorization: string | undefined;
  /** Undefined without a body. */
  body: { type: string; content: unknown } | undefined;
}

/** An error in a request. */
export interface Violation {
  /** The part of the request, such as `['query', 'limit']`. */
  path?: string[];
  /** The keyword of the schema, such as `required`, or the status of the error. */
  code?: string | number;
  message: string;
}

const config = {
  isProxy: false,
  validateResponse: false,
  errors: false,
  upstreamProxy: undefined,
} as const;
const mock = { dynamic: false };

/**
 * Returns a function that responds with an example. If it checks the request, and the request is invalid, the example is
 * one of an error.
 *
 * It throws an error of Prism if the contract does not have the path, the method or the selected example.
 */
export async function openPrism(contract: object) {
  const operations = await getHttpOperationsFromSpec(contract);
  const logger = pino({ level: 'silent', customLevels: { success: 35 } });
  const prism = createInstance(
    { ...config, checkSecurity: true, validateRequest: true, mock },
    // Prism's types are those of an older version of pino.
    { logger: logger as unknown as Parameters<typeof createInstance>[1]['logger'] },
  );

  return async (
    { method, url, authorization, body }: PrismRequest,
    { code, example }: Selection,
    isChecked: boolean,
  ) => {
    // Prism takes an empty value for a missing one.
    const query = [...url.searchParams].map(([name, value]) => [name, value || ' ']);
    const request = {
      method: method.toLowerCase() as 'get',
      url: { path: url.pathname, query: Object.fromEntries(query) },
      // Without Accept, which the server ignores. Prism rejects some of its values.
      headers: {
        ...(authorization && { authorization }),
        // Prism ignores the type if there is no length.
        ...(body && { 'content-type': body.type, 'content-length': '1' }),
      },
      body: body?.content,
    };
    const result = await prism.request(request, operations, {
      ...config,
      checkSecurity: isChecked,
      validateRequest: isChecked,
      mock: { ...mock, ...(code && { code }), ...(example && { exampleKey: example }) },
    })();
    if (result._tag === 'Left') throw result.left;
    const { output, validations } = result.right;
    const violations: readonly Violation[] = validations.input;
    return {
      status: output.statusCode,
      headers: output.headers ?? {},
      body: output.body,
      violations,
    };
  };
}
