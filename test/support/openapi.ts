import { contract } from '../../server/contract.ts';

/** The contract, without types. Tests must not change it. */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
export const openapi: any = contract;
