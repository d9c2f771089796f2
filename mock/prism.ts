import { createInstance, getHttpOperationsFromSpec } from '@stoplight/prism-http';
import { pino } from 'pino';
import { contract, type Operation } from '../server/contract.ts';
import { invalidPreference } from './preferences.ts';

/** An example of a response in the contract. */
export interface Selection {
  /** The HTTP status, named as in `Prefer: code=409`. */
  code: number;
  /** Name of the example, if the response has several. */
  example?: string | undefined;
}

/** A response with an example as its body. */
export interface ExampleResponse {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** The errors in the request; empty if an example was selected. */
  violations: Violation[];
}

/** An error in a request. */
export interface Violation {
  /** The part of the request, such as `['query', 'limit']`. */
  path?: string[];
  /** The keyword of the schema, such as `required`. */
  code?: string | number;
  message: string;
}

/**
 * Returns a function that responds with the selected example. Without a selection, it checks the request: it responds
 * with the example of success, or reports violations.
 *
 * It throws an HttpProblem if the contract does not have the selected example.
 */
export async function openPrism() {
  const resources = await getHttpOperationsFromSpec(structuredClone(contract));
  const config = {
    isProxy: false,
    checkSecurity: false,
    validateResponse: false,
    errors: false,
    upstreamProxy: undefined,
  } as const;
  const logger = pino({ level: 'silent', customLevels: { success: 35 } });
  const prism = createInstance(
    { ...config, validateRequest: true, mock: { dynamic: false } },
    // Prism's types are those of an older version of pino.
    { logger: logger as unknown as Parameters<typeof createInstance>[1]['logger'] },
  );

  return async (
    { method, operationId }: Operation,
    url: Pick<URL, 'pathname' | 'searchParams'>,
    { body, selection }: { body?: unknown; selection?: Selection },
  ): Promise<ExampleResponse> => {
    if (selection) assertExists(selection, operationId);
    const request = {
      method: method.toLowerCase() as 'get',
      url: { path: url.pathname, query: valuesByName(url.searchParams) },
      // Without other headers, because Prism rejects some types in Accept, which the server ignores.
      headers: { 'content-type': 'application/json' },
      body,
    };
    const { code, example: exampleKey } = selection ?? {};
    const result = await prism.request(request, resources, {
      ...config,
      validateRequest: selection === undefined,
      mock: { dynamic: false, ...(code && { code }), ...(exampleKey && { exampleKey }) },
    })();
    if (result._tag === 'Left') throw result.left;
    const { output, validations } = result.right;
    return {
      status: output.statusCode,
      headers: output.headers ?? {},
      body: output.body,
      violations: validations.input,
    };
  };

  function assertExists({ code, example }: Selection, operationId: string): void {
    const responses = resources.find(({ iid }) => iid === operationId)?.responses ?? [];
    const response = responses.find((each) => each.code === String(code));
    if (response === undefined) {
      const codes = responses.map((each) => each.code).join(', ');
      throw invalidPreference(
        `code=${code} is not a response of ${operationId}, which has ${codes}`,
      );
    }
    const names = response.contents?.[0]?.examples?.map(({ key }) => key) ?? [];
    if (example !== undefined && !names.includes(example)) {
      throw invalidPreference(
        `example=${example} is not an example of ${operationId} ${code}, which has ${names.join(', ')}`,
      );
    }
  }
}

function valuesByName(query: URLSearchParams): Record<string, string | string[]> {
  // Prism ignores the case of names. The names in the contract are in lower case.
  const names = new Set([...query.keys()].filter((name) => name === name.toLowerCase()));
  const entries = [...names].map((name) => {
    // Prism ignores empty values, so they become a blank text, which is not a number or a boolean either. It also accepts
    // other notations of integers, such as `0x5`. With a letter in front, they are not numbers.
    const values = query
      .getAll(name)
      .map((value) => (isOtherNotation(value) ? `x${value}` : value || ' '));
    return [name, values.length > 1 ? values : values[0]];
  });
  return Object.fromEntries(entries);
}

function isOtherNotation(value: string): boolean {
  return (
    value.trim() !== '' && Number.isInteger(Number(value)) && !/^-?(?:0|[1-9]\d*)$/.test(value)
  );
}
