import { type Generator, installNodePackages, node } from '../generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

export const heyApi: Generator = {
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'package.json', /"@hey-api\/openapi-ts": "(.+)"/),
  toolchains: [node],
  install: installNodePackages,
  command: 'npx openapi-ts --file openapi-ts.config.ts',
  async compile({ run }) {
    await run('tsc');
  },
  journey: 'node journey.js',
};
