import { parse } from 'yaml';
import { contractText, type Operation, operations } from '../../server/contract.ts';
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
  content: Record<string, { schema: object; examples?: object }>;
}

const contract = parse(contractText, (_key, value) => {
  const { nullable, type } = (value ?? {}) as { nullable?: boolean; type?: string };
  // JSON Schema expresses `nullable` as another type.
  return nullable ? { ...(value as object), type: [type, 'null'] } : value;
});

/** Every response declared in the contract, once per example. */
export const declaredResponses: readonly DeclaredResponse[] = operations.flatMap((operation) => {
  const { operationId, path, method } = operation;
  const responses: Record<string, Response> = contract.paths[path][method.toLowerCase()].responses;
  return Object.entries(responses).flatMap(([status, response]) => {
    const { content } = response.$ref ? lookUp(response.$ref) : response;
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
          ...schema,
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
