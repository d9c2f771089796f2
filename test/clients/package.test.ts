import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp } from '../support/app.ts';

const run = promisify(execFile);
const tsc = 'node_modules/typescript/bin/tsc';
let project: string;
let installed: string;

/** Creates a project outside the repository with the built package in its node_modules. */
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'space-client-'));
  installed = join(project, 'node_modules/space-service');
  await run(process.execPath, ['codegen/package.ts', installed]);
  await writeFile(join(project, 'package.json'), '{"type":"module"}');
}, 60_000);
afterAll(() => rm(project, { recursive: true }));

describe('the built package', () => {
  test('imports only its own files and uses no Node.js API', async () => {
    const entries = await readdir(installed, { recursive: true });
    const files = entries.filter((file) => file.endsWith('.js'));
    expect(files).toContain(join('client', 'index.js'));
    expect(files.some((file) => file.includes('fastify'))).toBe(false);
    for (const file of files) {
      const code = await readFile(join(installed, file), 'utf8');
      const imports = [...code.matchAll(/\bfrom\s+['"]([^'"]+)/g)].map(
        ([, specifier]) => specifier,
      );
      expect(imports.filter((specifier) => !/^\.\.?\/.*\.js$/.test(specifier ?? ''))).toEqual([]);
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

  test.each(['nodenext', 'bundler'])(
    'has types that compile in a strict project without Node.js types (%s)',
    async (kind) => {
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
      const module = kind === 'bundler' ? 'esnext' : kind;
      const compilerOptions = {
        module,
        moduleResolution: kind,
        target: 'es2022',
        lib: ['es2022', 'dom'],
        types: [],
        strict: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        noEmit: true,
      };
      await writeFile(join(project, 'app.ts'), source);
      await writeFile(
        join(project, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['app.ts'] }),
      );
      await run(process.execPath, [tsc, '-p', project]).catch(({ stdout }) => expect.fail(stdout));
    },
  );
});

test('the build replaces an earlier build and keeps any other folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'space-client-'));
  await writeFile(join(folder, 'other-file'), 'kept');
  const attempt = run(process.execPath, ['codegen/package.ts', folder]);
  await expect(attempt).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('contains other files'),
  });
  expect(await readdir(folder)).toEqual(['other-file']);
  await rm(folder, { recursive: true });
  await run(process.execPath, ['codegen/package.ts', installed]);
  expect(await readdir(installed)).toContain('README.md');
}, 60_000);
