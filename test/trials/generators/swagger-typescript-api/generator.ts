import { type Generator, installNodePackages, node } from '../generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

export const swaggerTypescriptApi: Generator = {
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'package.json', /"swagger-typescript-api": "(.+)"/),
  toolchains: [node],
  install: installNodePackages,
  command: 'npx swagger-typescript-api generate --path openapi.yaml --output . --name client.ts',
  async compile({ run }) {
    await run('tsc');
    // Node.js cannot run the enums in the client directly.
    await run('esbuild journey.ts --bundle --platform=node --format=esm --outfile=journey.js');
  },
  journey: 'node journey.js',
};
