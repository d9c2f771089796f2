import { type Generator, installNodePackages, node } from '../generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

export const openapiTypescript: Generator = {
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'package.json', /"openapi-typescript": "(.+)"/),
  toolchains: [node],
  install: installNodePackages,
  command: 'npx openapi-typescript openapi.yaml --output schema.d.ts',
  async compile({ run }) {
    await run('tsc');
  },
  journey: 'node journey.js',
};
