import { readFileSync } from 'node:fs';

/** The contract. Tests must not change it. */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
export const openapi: any = JSON.parse(
  readFileSync(new URL('../../generated/openapi.json', import.meta.url), 'utf8'),
);
