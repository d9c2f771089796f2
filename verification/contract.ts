import { type Contract, contract as openContract, readOperations } from '../server/contract.ts';

export type { Header, Operation, Schema } from '../server/contract.ts';

/**
 * Returns the contract with `additionalProperties: false` in every schema that lists fields, and only the known values
 * of texts in responses. The contract itself allows others, so that clients accept those of later versions. A check of a
 * server must notice them.
 */
export function closedContract(): Contract {
  return JSON.parse(JSON.stringify(openContract), (_key, value) => {
    const isOpen =
      value?.type === 'object' && value.properties && value.additionalProperties === undefined;
    const values = value?.['x-extensible-enum'];
    if (values) return { ...value, enum: values };
    return isOpen ? { ...value, additionalProperties: false } : value;
  });
}

/** The closed contract with schemas in JSON Schema, which has neither `nullable` nor formats of integers. */
export const contract: Contract = JSON.parse(JSON.stringify(closedContract()), (_key, value) => {
  if (value?.type === 'integer') delete value.format;
  return value?.nullable ? { ...value, type: [value.type, 'null'] } : value;
});

/** The operations of the contract, in its order. */
export const operations = readOperations(contract);

/** The status of each problem code. */
export const problemStatuses: Readonly<Record<string, number>> =
  contract.components.schemas.Problem?.properties?.code?.['x-problem-statuses'] ?? {};
