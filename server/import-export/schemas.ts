import { componentSchema, reservedValues, type Schema } from '../contract.ts';

export const id = componentSchema('Id');
export const time = { type: 'string', format: 'date-time' };

/** Returns the schema of a record's own id. References can be reserved ids, because older versions imported them. */
export function ownIdSchema(field: string): Schema {
  const reserved = [...reservedValues(field)];
  return reserved.length === 0 ? id : { ...id, not: { enum: reserved } };
}

/** Returns the schema of a text with the rules of the contract, except those that domain functions check. */
export function textSchema(schema: string, property: string): Schema {
  const { maxLength, pattern, 'x-pattern-message': message } = componentSchema(schema, property);
  if (maxLength === undefined) throw new Error(`${schema}.${property} has no maxLength.`);
  return { type: 'string', maxLength, ...(message && { pattern, 'x-pattern-message': message }) };
}

/** Returns the schema of a record of this type, with its other fields. */
export function recordSchema(
  type: string,
  required: string[],
  properties: Record<string, Schema>,
): Schema & { properties: Record<string, Schema> } {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['type', ...required],
    properties: { type: { const: type }, ...properties },
  };
}
