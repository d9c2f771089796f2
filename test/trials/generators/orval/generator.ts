import { type Generator, installNodePackages, node } from '../generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

export const orval: Generator = {
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'package.json', /"orval": "(.+)"/),
  toolchains: [node],
  install: installNodePackages,
  command: 'npx orval --config orval.config.ts',
  async compile({ run }) {
    await run('tsc');
    // The imports in the client have no file extensions, so Node.js cannot run it directly.
    await run('esbuild journey.ts --bundle --platform=node --format=esm --outfile=journey.js');
  },
  journey: 'node journey.js',
};
