import type { Generator } from '../generator.ts';
import { oapiCodegen } from '../oapi-codegen/generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

/** Installed and compiled like oapi-codegen, from `go.mod`. */
export const ogen: Generator = {
  ...oapiCodegen,
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'go.mod', /github\.com\/ogen-go\/ogen v(\S+)/),
  command: 'go tool ogen --target spaceservice --package spaceservice openapi.yaml',
};
