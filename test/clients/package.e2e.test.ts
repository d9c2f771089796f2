import { execFile } from 'node:child_process';
import {
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { build as bundle } from 'esbuild';
import { publint } from 'publint';
import { build, type Rollup } from 'vite';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import {
  createClient,
  createConfig,
  createSpace,
  ProfileAPI,
  register,
  SearchAPI,
} from '../../client/index.ts';
import { startApp } from '../support/app.ts';
import { type RunningProcess, startProcess } from '../support/processes.ts';

/** What every front end pays: a client with one operation. */
const MAX_CLIENT_GZIP_BYTES = 4_700;
/** What only those pay who import it. The size may grow with the contract, but not with each operation by more. */
const MAX_OPERATION_GZIP_BYTES = 60;
const MAX_METHOD_GZIP_BYTES = 150;

const run = promisify(execFile);
/** Of TypeScript 6. The package is built with a later version. */
const tsc = 'node_modules/typescript/bin/tsc6';
/** Outside the repository, so that projects in it cannot use the repository's packages. */
let folder: string;
let tarball: string;
let project: string;
let installed: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'space-client-'));
  const built = join(folder, 'built');
  await run(process.execPath, ['codegen/build-packages.ts', built, 'space-service']);
  const source = join(built, 'space-service');
  const { stdout } = await run('npm', ['pack', source, '--pack-destination', folder, '--silent']);
  tarball = join(folder, stdout.trim());
  project = join(folder, 'client');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{"type":"module"}');
  // Offline, which fails if the package has dependencies.
  const options = ['--offline', '--no-audit', '--no-fund'];
  await run('npm', ['install', tarball, ...options], { cwd: project });
  installed = join(project, 'node_modules/space-service');
});
afterAll(() => rm(folder, { recursive: true }));

/** Copies the project to one with more packages of the repository. */
async function createProjectWith(packages: string[], name: string): Promise<string> {
  const path = join(folder, name);
  await cp(project, path, { recursive: true });
  for (const each of packages) {
    const link = join(path, 'node_modules', each);
    await mkdir(dirname(link), { recursive: true });
    await symlink(resolve('node_modules', each), link);
  }
  return path;
}

/** Type-checks one file of a project, the declarations of its packages included. */
async function checkTypes(path: string, file: string, options: object): Promise<void> {
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom'],
    types: [],
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    ...options,
  };
  await writeFile(join(path, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
  await run(process.execPath, [tsc, '-p', path]).catch(({ stdout }) => expect.fail(stdout));
}

describe('the built package', () => {
  test('imports only its own files and optional packages, and uses no Node.js API', async () => {
    const entries = await readdir(installed, { recursive: true });
    const files = entries.filter((file) => file.endsWith('.js'));
    const optionalPackages: Record<string, string[]> = {
      [join('client', 'conversation-hook.js')]: ['@tanstack/react-query', 'react'],
      [join('client', 'following-hook.js')]: ['@tanstack/react-query', 'react'],
      [join('client', 'message-hooks.js')]: ['@tanstack/react-query'],
      [join('client', 'participation-hooks.js')]: ['@tanstack/react-query', 'react'],
      [join('client', 'reading-hook.js')]: ['@tanstack/react-query', 'react'],
      [join('client', 'session-hooks.js')]: ['@tanstack/react-query', 'react'],
      [join('client', 'waiting-hook.js')]: ['react'],
      [join('client', 'tanstack-react-query.js')]: ['@tanstack/react-query'],
      [join('client', 'msw.js')]: ['msw'],
      [join('generated', 'zod.gen.js')]: ['zod'],
    };
    expect(files).toEqual(
      expect.arrayContaining([join('client', 'index.js'), ...Object.keys(optionalPackages)]),
    );
    expect(files.some((file) => file.includes('fastify'))).toBe(false);
    for (const file of files) {
      const code = await readFile(join(installed, file), 'utf8');
      const imports = [...code.matchAll(/\bfrom\s+['"]([^'"]+)/g)].map(
        ([, specifier]) => specifier,
      );
      const packages = imports.filter((specifier) => !/^\.\.?\/.*\.js$/.test(specifier ?? ''));
      expect(packages).toEqual(optionalPackages[file] ?? []);
      expect(code).not.toMatch(/\b(node:|require\(|process\.|Buffer\.|__dirname|import\.meta)/);
    }
  });

  test('calls a server when imported by its package name', async () => {
    await using app = await startApp();
    const { token, username } = await app.register();
    const script = `
      import { ProfileAPI, SearchAPI } from 'space-service';
      const [baseUrl, token] = process.argv.slice(2);
      const results = await new SearchAPI({ baseUrl }).search('anything');
      const { username } = await new ProfileAPI({ baseUrl, token }).getProfile();
      console.log(JSON.stringify({ ...results, username }));`;
    await writeFile(join(project, 'run.js'), script);
    const { stdout } = await run(process.execPath, [join(project, 'run.js'), app.url, token]);
    expect(JSON.parse(stdout)).toEqual({
      tagSearchResults: [],
      generalSearchResults: [],
      username,
    });
  });

  test('can be loaded with require, with types', async () => {
    await using app = await startApp();
    const script = `
      const { SearchAPI } = require('space-service');
      const contract = require('space-service/openapi.json');
      const search = new SearchAPI({ baseUrl: /** @type {string} */ (process.argv[2]) });
      search.search('anything').then(({ tagSearchResults }) => {
        /** @type {number | undefined} */
        const count = tagSearchResults[0]?.participant_count;
        console.log(contract.openapi, tagSearchResults.length, count);
      });`;
    await writeFile(join(project, 'run.cjs'), script);
    const { stdout } = await run(process.execPath, [join(project, 'run.cjs'), app.url]);
    expect(stdout).toBe('3.0.3 0 undefined\n');
    const nodeTypes = resolve('node_modules/@types/node');
    await checkTypes(project, 'run.cjs', {
      module: 'nodenext',
      checkJs: true,
      resolveJsonModule: true,
      types: [nodeTypes],
      // The next tests check the declarations of the package. Those of Node.js are many.
      skipLibCheck: true,
    });
  });

  test.each(['nodenext', 'bundler'])(
    'has types that compile in a strict project without Node.js types (%s)',
    async (moduleResolution) => {
      const source = `
      import { type ApiError, createClient, createConfig, pages, ProfileAPI, SearchAPI, searchSpaces } from 'space-service';
      const baseUrl = 'https://spaces.example.com';
      const { tagSearchResults } = await new SearchAPI({ baseUrl }).search('a', { signal: AbortSignal.timeout(1) });
      export const count: number | undefined = tagSearchResults[0]?.participant_count;
      const profile = new ProfileAPI({ baseUrl, token: async () => 't' });
      export const words: number = (await profile.getProfile()).stats.total_words_contributed;
      await profile.changeProfilePicture(new File([], 'me.jpg'));
      await profile.changeProfilePicture({ uri: 'file:///me.jpg' });
      // @ts-expect-error a URL is not a file
      await profile.changeProfilePicture('https://example.com/me.jpg');
      // @ts-expect-error confirm is required
      await profile.deleteAccount();
      export const deleted: { message: string } | null = await profile.deleteAccount({ confirm: () => confirm('?') });
      export const status = (error: ApiError): number | null => error.status;
      const client = createClient(createConfig({ baseUrl }));
      export const { data } = await searchSpaces({ client, query: { q: 'a' } });
      const request = (cursor?: string) => searchSpaces({ client, query: { q: 'a', cursor } });
      for await (const results of pages(request)) results satisfies { title: string }[];`;
      await writeFile(join(project, 'app.ts'), source);
      const module = moduleResolution === 'bundler' ? 'esnext' : moduleResolution;
      await checkTypes(project, 'app.ts', { module, moduleResolution });
    },
  );

  test('works in an application that Vite builds', async () => {
    await using app = await startApp();
    const { token, username } = await app.register();
    await writeFile(join(project, 'index.html'), '<script type="module" src="./main.ts"></script>');
    const script = `
      import { ProfileAPI, SearchAPI } from 'space-service';
      const { baseUrl, token } = globalThis as unknown as Record<string, string>;
      const results = await new SearchAPI({ baseUrl }).search('anything');
      const { username } = await new ProfileAPI({ baseUrl, token }).getProfile();
      console.log(JSON.stringify({ ...results, username }));`;
    await writeFile(join(project, 'main.ts'), script);
    // The polyfill needs a browser. The built script runs in Node.js here.
    const options = { target: 'es2022', modulePreload: { polyfill: false } };
    const bundle = await build({
      root: project,
      configFile: false,
      logLevel: 'error',
      build: options,
    });
    const { output } = bundle as Rollup.RollupOutput;
    const [entry, ...chunks] = output.filter(({ type }) => type === 'chunk');
    expect(chunks).toEqual([]);
    const globals = `Object.assign(globalThis, ${JSON.stringify({ baseUrl: app.url, token })})`;
    const preload = `--import=data:text/javascript,${encodeURIComponent(globals)}`;
    const args = [preload, join(project, 'dist', entry?.fileName ?? '')];
    const { stdout } = await run(process.execPath, args);
    expect(JSON.parse(stdout)).toEqual({
      tagSearchResults: [],
      generalSearchResults: [],
      username,
    });
  });

  test('has entry points for TanStack Query, Zod and Mock Service Worker, with types', async () => {
    const packages = [
      '@tanstack/react-query',
      'react',
      '@types/react',
      '@types/node',
      'zod',
      'msw',
    ];
    const path = await createProjectWith(packages, 'kit');
    const script = `
      import { QueryClient, useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
      import { setupServer } from 'msw/node';
      import { ApiError, client, pages as allPages, searchSpaces } from 'space-service';
      import { fixture, handlers, http } from 'space-service/msw';
      import { getProfileOptions, getSpaceOptions, listMessagesInfiniteOptions, loginMutation } from 'space-service/tanstack-react-query';
      import { zProfile, zRegisterBody } from 'space-service/zod';

      client.setConfig({ baseUrl: 'https://spaces.example.org' });
      const server = setupServer(...handlers);
      server.listen();
      const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
      const messages = listMessagesInfiniteOptions({ query: { space_id: 's' } });
      const { pages } = await queryClient.fetchInfiniteQuery({ ...messages, pages: 9 });
      const profile = await queryClient.fetchQuery(getProfileOptions());
      server.use(http.problem('getProfile', 429));
      const error: unknown = await queryClient
        .fetchQuery({ ...getProfileOptions(), staleTime: 0 })
        .catch((reason: ApiError) => reason);
      server.close();
      console.log(JSON.stringify({
        pages: pages.length,
        isExample: zProfile.parse(profile).username === fixture('getProfile').username,
        registration: zRegisterBody.safeParse({ username: 'a' }).success,
        retryAfter: error instanceof ApiError && error.retryAfter,
        message: zRegisterBody.shape.username.safeParse('a').error?.issues[0]?.message,
      }));

      // Only their types are checked.
      export function useEverything(space_id: string) {
        const space = useQuery({ ...getSpaceOptions({ path: { space_id } }), enabled: space_id !== '' });
        const list = useInfiniteQuery(listMessagesInfiniteOptions({ query: { space_id } }));
        const login = useMutation(loginMutation());
        return [space.data?.title, list.data?.pages[0]?.items, login.data?.access_token] as const;
      }
      export const found = () => allPages((cursor) => searchSpaces({ query: { q: 'tea', cursor } }));
    `;
    await writeFile(join(path, 'kit.ts'), script);
    await checkTypes(path, 'kit.ts', {
      module: 'nodenext',
      types: ['node'],
      skipLibCheck: true,
      exactOptionalPropertyTypes: true,
    });
    const { stdout } = await run(process.execPath, [join(path, 'kit.ts')]);
    expect(JSON.parse(stdout)).toEqual({
      pages: 2,
      isExample: true,
      registration: false,
      retryAfter: 12,
      message: 'must have at least 2 characters',
    });
  });

  test('contains the contract as YAML and JSON', async () => {
    const script = `
      import { readFileSync } from 'node:fs';
      import contract from 'space-service/openapi.json' with { type: 'json' };
      const yaml = readFileSync(new URL(import.meta.resolve('space-service/openapi.yaml')), 'utf8');
      console.log(JSON.stringify({ contract, yaml }));`;
    await writeFile(join(project, 'contract.js'), script);
    const options = { maxBuffer: 10_000_000 };
    const { stdout } = await run(process.execPath, [join(project, 'contract.js')], options);
    const yaml = await readFile('openapi.yaml', 'utf8');
    expect(JSON.parse(stdout)).toEqual({ contract: parse(yaml), yaml });
  });

  test('has no dependencies, and only optional peer dependencies', async () => {
    expect(await readdir(join(project, 'node_modules'))).toEqual([
      '.package-lock.json',
      'space-service',
    ]);
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    expect(manifest).not.toHaveProperty('dependencies');
    for (const name of Object.keys(manifest.peerDependencies)) {
      expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
    }
  });

  test('has a source map with the source of every module', async () => {
    const entries = await readdir(installed, { recursive: true });
    const files = entries.filter((file) => file.endsWith('.js'));
    for (const file of files) {
      const code = await readFile(join(installed, file), 'utf8');
      expect(code).toMatch(/\n\/\/# sourceMappingURL=[\w.-]+\.js\.map$/);
      const map = JSON.parse(await readFile(join(installed, `${file}.map`), 'utf8'));
      const source = file.replace(/\.js$/, '.ts');
      expect(map.sources).toEqual([source]);
      expect(map.sourcesContent).toEqual([await readFile(source, 'utf8')]);
    }
  });

  test('shows TypeScript lines in stack traces', async () => {
    const script = `
      import { ProfileAPI } from 'space-service';
      const fetch = async () => new Response('', { status: 500 });
      const profile = new ProfileAPI({ baseUrl: 'http://127.0.0.1', token: 't', fetch });
      await profile.getProfile().catch(({ stack }) => console.log(stack));`;
    await writeFile(join(project, 'stack.js'), script);
    const args = ['--enable-source-maps', join(project, 'stack.js')];
    const { stdout } = await run(process.execPath, args);
    const [, number] = stdout.match(/space-service:\/\/\/client\/http\.ts:(\d+)/) ?? [];
    const lines = (await readFile('client/http.ts', 'utf8')).split('\n');
    expect(lines[Number(number) - 1]).toContain('throw toApiError');
  });

  test('passes publint', async () => {
    const { buffer } = new Uint8Array(await readFile(tarball));
    const { messages } = await publint({ pack: { tarball: buffer }, level: 'suggestion' });
    expect(messages).toEqual([]);
  });

  test('passes arethetypeswrong for ES modules', async () => {
    const contents = new Uint8Array(await readFile(tarball));
    // TypeScript cannot import YAML.
    const options = { excludeEntrypoints: ['./openapi.yaml'] };
    const analysis = await checkPackage(createPackageFromTarballData(contents), options);
    if (!analysis.types) expect.fail('The package has no types.');
    expect(Object.keys(analysis.entrypoints)).toEqual([
      '.',
      './tanstack-react-query',
      './zod',
      './msw',
      './handlers',
      './openapi.json',
      './package.json',
    ]);
    // As with the profile `esm-only`, because the package has no CommonJS build.
    const ignored = ['node10', 'node16-cjs'];
    const problems = analysis.problems.filter(
      (problem) => !('resolutionKind' in problem && ignored.includes(problem.resolutionKind)),
    );
    expect(problems).toEqual([]);
  });

  test('adds at most 4.7 KB to a bundle, and little for each further operation', async () => {
    const bytesOf = async (...names: string[]) => {
      const input = join(project, 'bundled.js');
      await writeFile(input, `export { ${names} } from 'space-service';`);
      const { metafile, outputFiles } = await bundle({
        entryPoints: [input],
        bundle: true,
        format: 'esm',
        minify: true,
        write: false,
        outdir: project,
        metafile: true,
      });
      expect(outputFiles).toHaveLength(1);
      const [output] = Object.values(metafile.outputs);
      expect(output?.exports.toSorted()).toEqual(names.toSorted());
      expect(output?.imports).toEqual([]);
      const [{ contents } = { contents: '' }] = outputFiles;
      return gzipSync(contents).length;
    };
    const client = await bytesOf('login');
    expect(client).toBeLessThanOrEqual(MAX_CLIENT_GZIP_BYTES);
    expect((await bytesOf('login', 'getProfile')) - client).toBeLessThanOrEqual(
      MAX_OPERATION_GZIP_BYTES,
    );
    const methods = [SearchAPI, ProfileAPI].flatMap(({ prototype }) =>
      Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor'),
    );
    expect(await bytesOf('SearchAPI', 'ProfileAPI')).toBeLessThanOrEqual(
      MAX_CLIENT_GZIP_BYTES + methods.length * MAX_METHOD_GZIP_BYTES,
    );
  });
});

describe('another server, which implements seven operations with the handler types', () => {
  const implemented = [
    'register',
    'login',
    'deleteAccount',
    'createSpace',
    'searchSpaces',
    'searchSpacesByTag',
    'changeBio',
  ];
  let server: RunningProcess;
  let baseUrl: string;
  beforeAll(async () => {
    const packages = ['fastify', 'fastify-openapi-glue', '@types/node'];
    const path = await createProjectWith(packages, 'server');
    await copyFile('test/clients/other-server/server.ts', join(path, 'server.ts'));
    await checkTypes(path, 'server.ts', {
      module: 'nodenext',
      resolveJsonModule: true,
      types: ['node'],
    });
    server = startProcess(process.execPath, [join(path, 'server.ts')]);
    await vi.waitFor(() => expect(server.output()).toMatch(/^http:\S+\n$/), 40_000);
    baseUrl = server.stdout().trim();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const checkContract = (...args: string[]) =>
    startProcess(process.execPath, ['verification/main.ts', baseUrl, ...args]).result;

  test('works with the client', async () => {
    const client = createClient(createConfig({ baseUrl }));
    const account = { username: 'ada', email: 'ada@example.com', password: 'staple of the north' };
    const { data: session } = await register({ client, body: account });
    const token = session?.access_token ?? '';
    const auth = createClient(createConfig({ baseUrl, auth: token }));
    for (const title of ['Bread', 'Cakes']) {
      const visibility = 'public' as const;
      const body = { title, description: '', visibility, tags: ['baking'] };
      expect((await createSpace({ client: auth, body })).response?.status).toBe(201);
    }
    const search = new SearchAPI({ baseUrl });
    const byText = await search.search('Bread');
    expect(byText.tagSearchResults).toEqual([]);
    expect(byText.generalSearchResults).toEqual([expect.objectContaining({ title: 'Bread' })]);
    const byTag = await search.search('baking');
    expect(byTag.tagSearchResults.map(({ title }) => title)).toEqual(['Cakes', 'Bread']);
    const profile = new ProfileAPI({ baseUrl, token });
    expect(await profile.changeBio('Baker')).toEqual({ message: 'Your bio is Baker' });
    await expect(profile.changeBio('a'.repeat(10_000))).rejects.toMatchObject({ status: 400 });
    const stranger = new ProfileAPI({ baseUrl, token: 'other' });
    await expect(stranger.changeBio('Baker')).rejects.toMatchObject({ status: 401 });
  });

  test('returns the declared responses, and lacks only rules that the contract check names', async () => {
    // The server keeps no idempotency keys, which createSpace needs.
    const checked = implemented.filter((id) => id !== 'createSpace');
    const { code, stdout, stderr } = await checkContract('--only', checked.join());
    // It stores everything in memory and lacks rules such as that of common passwords, which the check names.
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toContain('instead of 400 password_too_common');
    expect(stdout).toMatch(/\n\d{2} passed, \d{2} failed\n$/);
  });
});
