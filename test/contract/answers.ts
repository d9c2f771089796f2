import { parse } from 'yaml';
import { contractText, type Operation, operations } from '../../server/contract.ts';
import { parametersOf } from '../support/requests.ts';

/** An answer that the contract declares. */
export interface Answer {
  /** `changeUsername 409`; with more where an operation has several answers of that status. */
  id: string;
  operation: Operation;
  status: string;
  type: string;
  /** Of the body, as JSON Schema. */
  schema: object;
}

interface Response {
  $ref?: string;
  content: Record<string, { schema: object; examples?: object }>;
}

const contract = parse(contractText, (_key, value) => {
  const { nullable, type } = (value ?? {}) as { nullable?: boolean; type?: string };
  // JSON Schema has no such word.
  return nullable ? { ...(value as object), type: [type, 'null'] } : value;
});

/** Every answer in the contract. Where one has several examples, each counts. */
export const answers: readonly Answer[] = operations.flatMap((operation) => {
  const { operationId, path, method } = operation;
  const responses: Record<string, Response> = contract.paths[path][method.toLowerCase()].responses;
  return Object.entries(responses).flatMap(([status, response]) => {
    const { content } = response.$ref ? lookUp(response.$ref) : response;
    return Object.entries(content).flatMap(([type, { schema, examples }], nthType) =>
      Object.keys(examples ?? { only: {} }).map((example, nthExample) => ({
        id: [operationId, status, nthType > 0 && type, nthExample > 0 && `(${example})`]
          .filter(Boolean)
          .join(' '),
        ...{ operation, status, type },
        schema: {
          $schema: 'http://json-schema.org/draft-07/schema#',
          // Where the schema's references lead.
          components: contract.components,
          ...schema,
        },
      })),
    );
  });
});

/** The contract's examples of required parameters, by name. */
export const parameterExamples: ReadonlyMap<string, string> = new Map(
  operations
    .flatMap(parametersOf)
    .filter(({ required }) => required)
    .map(({ name, example }) => [name, example]),
);

function lookUp(reference: string): Response {
  return contract.components.responses[reference.split('/').at(-1) as string];
}
