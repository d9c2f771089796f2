import type { Generator } from '../generator.ts';
import { openapiTypescript } from '../openapi-typescript/generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

/** Hooks for the client of openapi-typescript. */
export const openapiReactQuery: Generator = {
  ...openapiTypescript,
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'package.json', /"openapi-react-query": "(.+)"/),
};
