import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

/** Variables that CommonJS modules expect. */
const COMMONJS_VARIABLES = `
import Module, { createRequire } from 'node:module';
const __filename = import.meta.filename, __dirname = import.meta.dirname;
const require = createRequire(import.meta.url), parentModule = new Module(__filename);`;

/**
 * Replaces compiled modules of a package by bundles that contain their dependencies, and writes the licenses of these.
 * @param modules paths in the folder of the package
 */
export async function bundleModules(modules: readonly string[], folder: string): Promise<void> {
  const entryPoints = modules.map((module) => resolve(folder, module));
  const { metafile } = await build({
    entryPoints,
    outdir: folder,
    outbase: folder,
    allowOverwrite: true,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: COMMONJS_VARIABLES },
    minify: true,
    metafile: true,
    logLevel: 'error',
    // The package is built outside of the repository.
    nodePaths: [resolve('node_modules')],
    // An optional native parser, which is not installed.
    external: ['protagonist'],
    plugins: [
      {
        name: 'resolve',
        setup({ onLoad, onResolve }) {
          // Other modules of the package stay what they are.
          onResolve({ filter: /^\.{1,2}\// }, ({ importer, path }) =>
            entryPoints.includes(importer) ? { path, external: true } : undefined,
          );
          // Its main module calls `require` in a way that bundlers cannot follow.
          onResolve({ filter: /^jsonc-parser$/ }, () => ({
            path: resolve('node_modules/jsonc-parser/lib/esm/main.js'),
          }));
          // The mock generates no random data, so one of 70 languages is enough.
          onResolve({ filter: /^@faker-js\/faker$/ }, () => ({
            path: resolve('node_modules/@faker-js/faker/dist/locale/en.js'),
          }));
          // It loads Dredd's hook file from the module that has loaded itself.
          onLoad({ filter: /\/proxyquire\/index\.js$/ }, ({ path }) => ({
            contents: readFileSync(path, 'utf8').replace('module.parent', 'parentModule'),
          }));
        },
      },
    ],
  });
  const folders = Object.keys(metafile.inputs).flatMap((module) => packageFolder(module) ?? []);
  const licenses = [...new Set(folders)].sort().map(licenseOf);
  writeFileSync(join(folder, 'LICENSES-OF-DEPENDENCIES.txt'), `${licenses.join('\n\n')}\n`);
}

/** Returns the folder of the dependency that contains a module. */
function packageFolder(module: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module)?.[0];
}

/** Returns the license of a dependency, with its text if the package has it. */
function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = globSync('{LICENSE,LICENCE,COPYING}*', { cwd: folder }).sort();
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version}: ${license}`, ...texts].join('\n\n');
}
