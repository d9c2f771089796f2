import type { Media, Operation } from '../server/contract.ts';
import { contract, operations } from './contract.ts';

/** A response that the contract declares. */
export interface DeclaredResponse {
  /** `changeUsername 409`. Ids of further types and examples of the same status also contain their name. */
  id: string;
  operation: Operation;
  status: string;
  /** Undefined for a response without a body. */
  type: string | undefined;
  /** Dredd sends no requests for the others. */
  isFirstExample: boolean;
  /** The problem code of the example, for an error. */
  code: string | undefined;
  /** JSON Schema of the body. Accepts only this code. Undefined for a response without a body. */
  schema?: object;
}

/** Every response declared in the contract; errors once per example. */
export const declaredResponses: readonly DeclaredResponse[] = operations.flatMap((operation) =>
  Object.entries(operation.responses).flatMap(([status, { content }]): DeclaredResponse[] => {
    if (!content) return [withoutBody(operation, status)];
    return Object.entries(content).flatMap(([type, media], nthType) =>
      examplesOf(media).map(([name, { code }], nthExample) => ({
        id: [operation.operationId, status, nthType > 0 && type, nthExample > 0 && `(${name})`]
          .filter(Boolean)
          .join(' '),
        operation,
        status,
        type,
        isFirstExample: nthExample === 0,
        code,
        schema: {
          $schema: 'http://json-schema.org/draft-07/schema#',
          // Target of the `$ref`s in the schema.
          components: contract.components,
          // The requests of the check provoke the errors in the examples. Other codes of the same status are wrong.
          allOf: [media.schema, ...(code ? [{ properties: { code: { enum: [code] } } }] : [])],
        },
      })),
    );
  }),
);

function withoutBody(operation: Operation, status: string): DeclaredResponse {
  const id = `${operation.operationId} ${status}`;
  return { id, operation, status, type: undefined, isFirstExample: true, code: undefined };
}

function examplesOf({ example, examples }: Media): [string, { code?: string }][] {
  const named = Object.entries(examples ?? {}).map(([name, { value }]): [string, object] => [
    name,
    value,
  ]);
  // Examples of success have no code. They show other data, not other responses.
  return named.some(([, value]) => 'code' in value) ? named : [['only', { ...example }]];
}
