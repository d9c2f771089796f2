import { readFileSync } from 'node:fs';
import { RESERVED, ROLES } from '../../server/accounts/reserved-usernames.ts';
import { STOP_WORDS } from '../../server/search/rules/stop-words.ts';

/** An npm package that `npm run build` makes from this repository. */
export interface Package {
  name: string;
  readme: string;
  /** Configurations of the TypeScript compiler. Each is compiled into the package. */
  projects: string[];
  /** Files, as paths or glob patterns. The package has them at the same path. */
  files: string[];
  /** Folders of web pages. The package has what Vite builds from each, in the folder `dist` at the same path. */
  webPages?: readonly string[];
  /** JSON files of the package with their content. One of them is `package.json`. */
  json: Record<string, () => unknown>;
  /** Compiled modules that the build replaces by bundles with their dependencies. */
  bundles?: readonly string[];
}

interface RootManifest {
  version: string;
  license: string;
  type: string;
  engines: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
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
    json: {
      // Written by hand, because its users do not need the dependencies of the server.
      'package.json': () => readJson('client/package.json'),
      'openapi.json': () => readJson('generated/openapi.json'),
    },
  },
  programs({
    name: 'space-service-server',
    description: 'The server of space-service, a web service for discussion rooms called spaces.',
    readme: 'server/README.md',
    projects: ['codegen/packages/server.tsconfig.json'],
    assets: [
      'openapi.yaml',
      'generated/openapi.json',
      '.env.example',
      'server/**/*.{jpg,sql,txt,webp,yaml}',
      'CHANGELOG.md',
    ],
    // The page of the demo.
    webPages: ['examples/web'],
    manifest: {
      bin: { 'space-service': './server/cli.js' },
      exports: {
        './package.json': './package.json',
        // The package space-service-tools imports this module.
        './stateful-mock': './mock/stateful.js',
      },
      dependencies: root.dependencies,
    },
  }),
  programs({
    name: 'space-service-tools',
    description: 'A mock server and a contract check for the API of space-service.',
    readme: 'codegen/packages/tools.README.md',
    projects: ['codegen/packages/tools.tsconfig.json'],
    assets: [
      'openapi.yaml',
      'generated/openapi.json',
      'server/avatars/default.webp',
      'verification/vectors/*.json',
      // Lists for those who implement the contract.
      'server/accounts/common-passwords*.txt',
      'server/text/confusables*.txt',
      'CHANGELOG.md',
    ],
    manifest: {
      bin: {
        'space-service-contract': './verification/main.js',
        'space-service-mock': './mock/serve.js',
      },
      // The package has no modules to import.
      exports: { './package.json': './package.json' },
      imports: { '#stateful-mock': 'space-service-server/stateful-mock' },
      peerDependencies: { 'space-service-server': root.version },
      peerDependenciesMeta: { 'space-service-server': { optional: true } },
    },
    json: {
      'lists/reserved-usernames.json': () => ({ roles: ROLES, names: RESERVED }),
      'lists/stop-words.json': () => [...STOP_WORDS].sort(),
    },
    bundles: ['mock/prism.js', 'verification/dredd.js', 'verification/scenarios/responses.js'],
  }),
];

/**
 * Returns a package of programs.
 * @param program.projects configurations that extend `programs.tsconfig.json`: the package contains exactly the files
 *   that they include, and `npm run check:types` checks the types
 * @param program.assets files that the programs read, as paths or glob patterns
 * @param program.bundles modules with dependencies that npm would install as 10,000 files, and in vulnerable versions
 *   that the repository overrides
 * @param program.manifest the fields of `package.json` that only this package has
 */
function programs(program: {
  name: string;
  description: string;
  readme: string;
  projects: string[];
  assets: string[];
  webPages?: readonly string[];
  bundles?: readonly string[];
  json?: Package['json'];
  manifest: {
    /** Compiled modules by the name of their command. */
    bin: Record<string, string>;
    exports: Record<string, string>;
    imports?: Record<string, string>;
    /** Exact versions, as in the repository's package.json. */
    dependencies?: Record<string, string>;
    peerDependencies?: Record<string, string>;
    peerDependenciesMeta?: Record<string, { optional: boolean }>;
  };
}): Package {
  const { name, description, readme, projects, assets, manifest, json, ...contents } = program;
  const { version, license, type, engines } = root;
  return {
    name,
    readme,
    projects,
    files: [...assets, 'LICENSE'],
    ...contents,
    json: {
      ...json,
      'package.json': () => ({ name, version, description, license, type, engines, ...manifest }),
    },
  };
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
