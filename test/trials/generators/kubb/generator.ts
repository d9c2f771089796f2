import { type Generator, installNodePackages, node } from '../generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

export const kubb: Generator = {
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'package.json', /"@kubb\/cli": "(.+)"/),
  toolchains: [node],
  install: installNodePackages,
  command: 'npx kubb generate',
  async compile({ run }) {
    await run('tsc');
    // Node.js cannot resolve imports of React without a bundler.
    await run('esbuild journey.ts --bundle --platform=node --format=esm --outfile=journey.js');
  },
  journey: 'node journey.js',
};
