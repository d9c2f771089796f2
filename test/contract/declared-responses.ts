import { type Operation, operations } from '../../server/contract.ts';
import { closedContract } from '../support/closed-contract.ts';
import { parametersOf } from '../support/requests.ts';

/** A response that the contract declares. */
export interface DeclaredResponse {
  /** `changeUsername 409`, followed by the type or the example if several responses have that status. */
  id: string;
  operation: Operation;
  status: string;
  type: string;
  /** JSON Schema of the body. */
  schema: object;
}

interface Response {
  $ref?: string;
  'x-problem-codes'?: string[];
  content: Record<string, { schema: object; examples?: object }>;
}

/** The closed contract with schemas in JSON Schema, which has neither `nullable` nor formats of integers. */
const contract = JSON.parse(JSON.stringify(closedContract()), (_key, value) => {
  if (value?.type === 'integer') delete value.format;
  return value?.nullable ? { ...value, type: [value.type, 'null'] } : value;
});

/** Every response declared in the contract, once per example. */
export const declaredResponses: readonly DeclaredResponse[] = operations.flatMap((operation) => {
  const { operationId, path, method } = operation;
  const responses: Record<string, Response> = contract.paths[path][method.toLowerCase()].responses;
  return Object.entries(responses).flatMap(([status, response]) => {
    const resolved = response.$ref ? lookUp(response.$ref) : response;
    const { content, 'x-problem-codes': codes } = resolved;
    return Object.entries(content).flatMap(([type, { schema, examples }], nthType) =>
      Object.keys(examples ?? { only: {} }).map((example, nthExample) => ({
        id: [operationId, status, nthType > 0 && type, nthExample > 0 && `(${example})`]
          .filter(Boolean)
          .join(' '),
        operation,
        status,
        type,
        schema: {
          $schema: 'http://json-schema.org/draft-07/schema#',
          // Target of the `$ref`s in the schema.
          components: contract.components,
          allOf: [schema, ...(codes ? [{ properties: { code: { enum: codes } } }] : [])],
        },
      })),
    );
  });
});

/** Examples of required parameters, by name. */
export const parameterExamples: ReadonlyMap<string, string> = new Map(
  operations
    .flatMap(parametersOf)
    .filter(({ required }) => required)
    .map(({ name, example }) => [name, example]),
);

function lookUp(reference: string): Response {
  return contract.components.responses[reference.split('/').at(-1) as string];
}
