import { componentSchema, reservedValues, type Schema } from '../contract.ts';

const { minLength, maxLength, pattern } = componentSchema('Id');
export const id = { type: 'string', minLength, maxLength, pattern };
export const time = { type: 'string', format: 'date-time' };

/** Returns the schema of a record's own id. References can be reserved ids, because older versions imported them. */
export function ownIdSchema(field: string): Schema {
  const reserved = [...reservedValues(field)];
  return reserved.length === 0 ? id : { ...id, not: { enum: reserved } };
}

/** Returns the schema of a text with the contract's maximum length. Domain functions check the other rules. */
export function textSchema(schema: string, property: string): Schema {
  const { maxLength } = componentSchema(schema, property);
  if (maxLength === undefined) throw new Error(`${schema}.${property} has no maxLength.`);
  return { type: 'string', maxLength };
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
