import { readFileSync } from 'node:fs';
import { normalize } from 'node:path';
import { parse } from 'yaml';

/** An npm package that `npm run build` makes from this repository. */
export interface Package {
  name: string;
  readme: string;
  /** Configurations of the TypeScript compiler. Each is compiled into the package. */
  projects: string[];
  /** Files, as paths or glob patterns. The package has them at the same path. */
  files: string[];
  /** Folders of web pages. The package has what Vite builds from each, in the folder `dist` at the same path. */
  webPages: string[];
  /** JSON files of the package with their content. One of them is `package.json`. */
  json: Record<string, () => unknown>;
}

interface RootManifest {
  version: string;
  license: string;
  type: string;
  engines: Record<string, string>;
  dependencies: Record<string, string>;
}

const root = readJson('package.json') as RootManifest;

export const packages: Package[] = [
  {
    name: 'space-service',
    readme: 'client/README.md',
    // The types of the handlers are compiled separately, because Fastify's types declare Node.js globals, which the
    // client must not use. At run time, the export `./handlers` is the empty module of the generated types.
    projects: ['client/tsconfig.json', 'client/tsconfig.handlers.json'],
    files: ['openapi.yaml', 'CHANGELOG.md', 'LICENSE'],
    webPages: [],
    json: {
      // Written by hand, because its users do not need the dependencies of the server.
      'package.json': () => readJson('client/package.json'),
      'openapi.json': () => parse(readFileSync('openapi.yaml', 'utf8')),
    },
  },
  programs({
    name: 'space-service-server',
    description: 'The server of space-service, a web service for discussion rooms called spaces.',
    bin: { 'space-service': './server/cli.js' },
    dependencies: root.dependencies,
    readme: 'server/README.md',
    projects: ['codegen/packages/server.tsconfig.json'],
    assets: ['openapi.yaml', '.env.example', 'server/**/*.{jpg,sql,txt,webp,yaml}', 'CHANGELOG.md'],
    // The page of the demo.
    webPages: ['examples/web'],
  }),
];

/**
 * Returns a package of programs.
 * @param program.bin compiled modules by the name of their command
 * @param program.dependencies exact versions, as in the repository's package.json
 * @param program.assets files that the programs read, as paths or glob patterns
 */
function programs(program: {
  name: string;
  description: string;
  bin: Record<string, string>;
  dependencies: Record<string, string>;
  readme: string;
  projects: string[];
  assets: string[];
  webPages: string[];
}): Package {
  const { name, description, bin, dependencies, readme, projects, assets, webPages } = program;
  const { version, license, type, engines } = root;
  // The first folder of each path. npm adds README.md and LICENSE.
  const files = new Set(
    [...Object.values(bin), ...assets, ...webPages].map((path) => normalize(path).split('/')[0]),
  );
  const manifest = {
    name,
    version,
    description,
    license,
    type,
    engines,
    bin,
    // The package has no modules to import.
    exports: { './package.json': './package.json' },
    files: [...files],
    dependencies,
  };
  return {
    name,
    readme,
    projects,
    files: [...assets, 'LICENSE'],
    webPages,
    json: { 'package.json': () => manifest },
  };
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
