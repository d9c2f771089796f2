import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Operation, operations } from '../../server/contract.ts';
import { DEMO_ACCOUNT } from '../../server/sample/sample.ts';
import { startProgram } from '../support/commands.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/processes.ts';
import { exampleRequest, sessionEndingOperations } from '../support/requests.ts';
import { startServer } from '../support/server.ts';
import { hasChromium, launchChromium } from './browser.ts';
import { confirm, signIn } from './page.ts';

describe('npm run demo', () => {
  let demo: RunningProcess;
  let url: string;
  let browser: Browser;
  /** Contains the data of the demo, which the demo cannot delete when it is killed. */
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
    const port = String(await freePort());
    url = `http://127.0.0.1:${port}`;
    // As in the script `predemo`.
    const build = startProcess(process.execPath, ['codegen/build-web-page.ts']);
    expect((await build.result).code, build.output()).toBe(0);
    const settings = { PORT: port, TMPDIR: folder };
    demo = startProgram('demo', [], settings);
    const isReady = () => expect(demo.output()).toContain('person30@example.com');
    await vi.waitFor(isReady, { timeout: 40_000 });
    if (hasChromium) browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await demo.kill();
    await rm(folder, { recursive: true });
  });

  test('serves the example web page at / and its files, but no other paths', async () => {
    expect(demo.stdout()).toContain(`Try it in the browser  ${url}\n`);
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const policy = response.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none';/);
    expect(policy).not.toMatch(/unsafe|\*|https?:(?!\/\/127\.0\.0\.1)/);
    const html = await response.text();
    const assets = [...html.matchAll(/(?:src|href)="\.\/(\S+)"/g)].map(([, path]) => path);
    expect(assets.length).toBeGreaterThan(2);
    for (const path of assets) {
      const response = await fetch(`${url}/${path}`);
      const { status, headers } = response;
      expect(status, path).toBe(200);
      const size = gzipSync(await response.bytes()).length;
      expect(size, path).toBeLessThan(130_000);
      const isImmutable = headers.get('cache-control')?.includes('immutable');
      expect(isImmutable, path).toBe(path?.startsWith('assets/'));
    }
    for (const path of ['/nothing.html', '/assets/', '/assets/nothing.js', '/src/main.ts']) {
      expect((await fetch(url + path)).status, path).toBe(404);
    }
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  });

  describe.skipIf(!hasChromium)('in Chromium', () => {
    /** Opens a page. The returned array gets everything that it prints, such as violations of its policy. */
    async function open(
      path: string,
      options?: BrowserContextOptions,
    ): Promise<{ page: Page; messages: string[] }> {
      const page = await browser.newPage(options);
      page.setDefaultTimeout(60_000);
      const messages: string[] = [];
      page.on('console', (message) => messages.push(message.text()));
      page.on('pageerror', (error) => messages.push(error.message));
      await page.goto(url + path);
      return { page, messages };
    }

    test('serves a page that complies with its Content-Security-Policy', async () => {
      const { page, messages } = await open('/#/sign-in');
      await page.getByRole('link', { name: 'Mail of the demo' }).waitFor();
      await signIn(page, { email: 'person2@example.com', password: DEMO_ACCOUNT.password });
      await page.getByRole('link', { name: 'Account', exact: true }).click();
      await page.getByLabel('Avatar').setInputFiles('server/sample/avatar.jpg');
      const preview = page.getByAltText('Preview of your new avatar');
      await expect
        .poll(() => preview.evaluate((each: HTMLImageElement) => each.naturalWidth))
        .toBeGreaterThan(0);
      await page.getByRole('link', { name: 'Your data' }).click();
      const deletion = page.getByRole('button', { name: 'Delete account …' });
      await confirm(deletion, 'Delete');
      await page.getByText(/account .* deleted/).waitFor();
      // The request that waits for changes in the list of spaces ends with the account.
      const ended = /^Failed to load resource: .* 401 /;
      expect(messages.filter((text) => !ended.test(text))).toEqual([]);
    });

    test('shows spaces for popular tags', async () => {
      const { page } = await open('/');
      const tags = page.getByRole('list', { name: 'Popular tags' }).getByRole('link');
      await tags.first().waitFor();
      const texts = await tags.allTextContents();
      expect(texts.length).toBeGreaterThan(2);
      for (const text of texts.slice(0, 3)) {
        await page.goto(`${url}/#/`);
        await tags.filter({ hasText: text }).first().click();
        await page.getByRole('heading', { level: 3 }).first().waitFor();
      }
    });

    test('serves an API reference with pages of rules and code samples', async () => {
      const phone = { viewport: { width: 390, height: 844 }, isMobile: true };
      const { page, messages } = await open('/docs/#tag/spaces/GET/api/spaces/{space_id}', phone);
      await page.getByRole('heading', { name: 'Retrieve a space' }).first().waitFor();
      expect(await page.getByText('curl').count()).toBeGreaterThan(1);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);

      await page.goto(`${url}/docs/#tag/errors`);
      await page.getByText('All codes').first().waitFor();
      await page.goto(`${url}/docs/#`);
      await page.getByText('This is a demo.').first().waitFor();
      expect(await page.locator('body').textContent()).toContain(DEMO_ACCOUNT.password);
      for (const language of ['Shell', 'JavaScript', 'Python']) {
        await page.getByRole('tab', { name: language, exact: true }).waitFor();
      }
      // The reference prints its version, and nothing else.
      expect(messages).toEqual([expect.stringMatching(/^@scalar\/api-reference@/)]);
    });
  });

  // Last, because it changes the account of the demo.
  test('has the data for the examples of the contract', async () => {
    const signIn = operations.find(({ operationId }) => operationId === 'login') as Operation;
    const { url: path, init } = exampleRequest(signIn);
    const { access_token } = await (await fetch(url + path, init)).json();
    const excluded = [
      'login',
      // The account in its example exists.
      'register',
      // The space in the examples is public, and the user has created it.
      'renewInvitationCode',
      'removeParticipant',
      // The user in the examples is the caller.
      'blockUser',
      // The message in the examples is by another user.
      'editMessage',
      // The tokens in their examples are in no mail.
      'resetPassword',
      'verifyEmail',
      ...sessionEndingOperations,
    ];
    const selected = operations
      .filter(({ operationId, method }) => !excluded.includes(operationId) && method !== 'DELETE')
      // Last, because other examples have the password before the change.
      .sort(
        (a, b) =>
          Number(a.operationId === 'changePassword') - Number(b.operationId === 'changePassword'),
      );
    expect(selected.length).toBeGreaterThan(15);
    for (const operation of selected) {
      const request = exampleRequest(operation);
      const headers = new Headers(request.init.headers);
      headers.set('authorization', `Bearer ${access_token}`);
      const response = await fetch(url + request.url, { ...request.init, headers });
      expect(response.ok, `${operation.operationId}: ${await response.text()}`).toBe(true);
    }
  });
});

test('npm start serves no page', async () => {
  await using server = await startServer();
  for (const path of ['/', '/index.html', '/favicon.svg']) {
    const response = await fetch(server.url + path);
    expect(response.status, path).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found' });
  }
});
