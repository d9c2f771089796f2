import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../examples/web/package.json' with { type: 'json' };
import rootManifest from '../../package.json' with { type: 'json' };
import { importSample } from '../../server/sample/import-sample.ts';
import { DEMO_ACCOUNT } from '../../server/sample/sample.ts';
import { startApp } from '../support/app.ts';
import { hasChromium, launchChromium } from './browser.ts';
import { serveSite } from './site.ts';

const run = promisify(execFile);

const PAGE = `<!doctype html>
<title>Client</title>
<script type="importmap">{ "imports": { "space-service": "/space-service/client/index.js" } }</script>
<input type="file">
<script type="module">
  import * as client from 'space-service';
  Object.assign(window, client);
</script>`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'web-package-'));
  await run(process.execPath, [
    'codegen/build-packages.ts',
    join(folder, 'built'),
    'space-service',
  ]);
});
afterAll(() => rm(folder, { recursive: true }));

describe.skipIf(!hasChromium)('The npm package in Chromium', () => {
  test('works in a plain page without a bundler, with a server at another origin', async () => {
    const dataDir = join(folder, 'data');
    await importSample({ dataDir });
    await using service = await startApp({ DATA_DIR: dataDir });
    await writeFile(join(folder, 'built/index.html'), PAGE);
    await using site = await serveSite(join(folder, 'built'));
    await using browser = await launchChromium();
    const page = await browser.newPage();
    await page.goto(site.url);
    await page.locator('input').setInputFiles('server/sample/avatar.jpg');

    const results = await page.evaluate(callClient, {
      baseUrl: service.url,
      email: DEMO_ACCOUNT.email,
      password: DEMO_ACCOUNT.password,
    });
    expect(results).toEqual({
      answeredQuery: 'astronomy',
      titles: expect.arrayContaining(['Astronomy']),
      abortError: 'AbortError',
      // Read from a header that CORS must expose.
      pageSizes: [5, 5],
      username: 'ada',
      avatar: expect.stringMatching(`^${service.url}/avatars/.+\\.webp$`),
      problem: { status: 403, code: 'current_password_incorrect' },
    });
  });
});

/** Runs in the page, where the exports of the package are global variables. */
async function callClient({
  baseUrl,
  ...credentials
}: Record<'baseUrl' | 'email' | 'password', string>) {
  const { createClient, createConfig, login, pages, ProfileAPI, SearchAPI, searchSpaces } =
    window as unknown as typeof import('../../client/index.ts');
  const search = new SearchAPI({ baseUrl });
  let answeredQuery = '';
  const { generalSearchResults } = await search.search('astronmy', {
    onAnsweredQuery: (query) => {
      answeredQuery = query;
    },
  });
  const controller = new AbortController();
  const aborted = search.search('bread', { signal: controller.signal });
  controller.abort();
  const abortError = await aborted.catch(({ name }) => name);

  const client = createClient(createConfig({ baseUrl }));
  const pageSizes: number[] = [];
  const query = { q: 'the', limit: 5 };
  for await (const items of pages((cursor) =>
    searchSpaces({ client, query: { ...query, cursor } }),
  )) {
    pageSizes.push(items.length);
    if (pageSizes.length === 2) break;
  }

  const { data } = await login({
    client,
    body: credentials as { email: string; password: string },
  });
  const profile = new ProfileAPI({ baseUrl, token: data?.access_token ?? '' });
  const { username } = await profile.getProfile();
  const file = document.querySelector('input')?.files?.[0] as File;
  const { profile_picture } = await profile.changeProfilePicture(file);
  const problem = await profile.changePassword('wrong', 'honey on crumpets').then(
    () => null,
    ({ status, problem }) => ({ status, code: problem.code }),
  );
  return {
    answeredQuery,
    titles: generalSearchResults.map(({ title }) => title),
    abortError,
    pageSizes,
    username,
    avatar: profile_picture,
    problem,
  };
}

test('A copy of examples/web declares the versions that this repository uses', () => {
  const {
    'space-service': client,
    typescript,
    ...others
  } = {
    ...manifest.dependencies,
    ...manifest.devDependencies,
  };
  expect([manifest.version, client]).toEqual([rootManifest.version, rootManifest.version]);
  const compiler = { '@typescript/native': `npm:typescript@${typescript}` };
  expect(rootManifest.devDependencies).toMatchObject({ ...others, ...compiler });
});
