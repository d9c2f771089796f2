import { readFileSync } from 'node:fs';

/** For Dredd, which reports locations in it. */
export const contractFile = new URL('../openapi.yaml', import.meta.url);

interface Schema {
  type?: string;
  properties?: object;
  additionalProperties?: unknown;
}

/**
 * Returns the contract with `additionalProperties: false` in every schema that lists fields. The contract itself allows
 * other fields in responses, so that clients accept those of later versions. A check of a server must notice them.
 */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
export function closedContract(): any {
  const text = readFileSync(new URL('../generated/openapi.json', import.meta.url), 'utf8');
  return JSON.parse(text, (_key, value) => {
    const { type, properties, additionalProperties } = (value ?? {}) as Schema;
    const isOpen = type === 'object' && properties && additionalProperties === undefined;
    return isOpen ? { ...(value as Schema), additionalProperties: false } : value;
  });
}

/** The closed contract with schemas in JSON Schema, which has neither `nullable` nor formats of integers. */
export const contract = JSON.parse(JSON.stringify(closedContract()), (_key, value) => {
  if (value?.type === 'integer') delete value.format;
  return value?.nullable ? { ...value, type: [value.type, 'null'] } : value;
});

export interface Operation {
  operationId: string;
  /** In upper case. */
  method: string;
  /** As in the contract: `/api/spaces/{space_id}`. */
  path: string;
  acceptsToken: boolean;
  /** Whether the operation is a GET that does not require an access token. */
  isPublicRead: boolean;
  parameters: Parameter[];
  responses: Record<string, Response>;
}

export interface Parameter {
  name: string;
  required?: boolean;
  example: string;
}

export interface Response {
  'x-problem-codes'?: string[];
  content: Record<string, Media>;
}

/** The example of a body. Only problem documents have a `code`. */
interface Example {
  code?: string;
}

export interface Media {
  schema: object;
  example: Example;
  /** Replaces `example` if there are several. */
  examples?: Record<string, { value: Example }>;
}

interface Reference {
  $ref: string;
}

interface OperationObject {
  operationId: string;
  security?: object[];
  parameters?: (Parameter | Reference)[];
  responses: Record<string, Response | Reference>;
}

type PathItem = Record<string, OperationObject> & { parameters?: (Parameter | Reference)[] };

/** The operations of the contract, in its order. */
export const operations: readonly Operation[] = Object.entries<PathItem>(contract.paths).flatMap(
  ([path, { parameters = [], ...methods }]) =>
    Object.entries(methods).map(([method, operation]) =>
      readOperation(path, method, operation, parameters),
    ),
);

function readOperation(
  path: string,
  method: string,
  operation: OperationObject,
  sharedParameters: (Parameter | Reference)[],
): Operation {
  // Security requirements are alternatives. An empty one makes the access token optional.
  const security: object[] = operation.security ?? contract.security;
  const requiresToken = security.length > 0 && security.every((each) => 'bearer' in each);
  const parameters = [...sharedParameters, ...(operation.parameters ?? [])].map(dereference);
  const responses = Object.entries(operation.responses).map(([status, response]) => [
    status,
    dereference(response),
  ]);
  return {
    operationId: operation.operationId,
    method: method.toUpperCase(),
    path,
    acceptsToken: security.length > 0,
    isPublicRead: method === 'get' && !requiresToken,
    parameters,
    responses: Object.fromEntries(responses),
  };
}

/** Resolves a reference to a part of the contract's components, such as `#/components/responses/Internal`. */
function dereference<T extends object>(value: T | Reference): T {
  if (!('$ref' in value)) return value;
  const [, , kind, name] = value.$ref.split('/');
  return contract.components[kind as string][name as string];
}
