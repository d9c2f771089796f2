import { parse } from 'yaml';
import { contractText } from '../../server/contract.ts';

/**
 * Returns the contract with `additionalProperties: false` in every schema that lists fields. The contract itself allows
 * other fields in responses, so that clients accept those of later versions. Tests must notice them.
 */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
export function closedContract(): any {
  return parse(contractText, (_key, value) => {
    const { type, properties, additionalProperties } = (value ?? {}) as Schema;
    const isOpen = type === 'object' && properties && additionalProperties === undefined;
    return isOpen ? { ...(value as Schema), additionalProperties: false } : value;
  });
}

interface Schema {
  type?: string;
  properties?: object;
  additionalProperties?: unknown;
}
