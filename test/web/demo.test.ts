import { describe, expect, test } from 'vitest';
import { DEMO_ACCOUNT } from '../../server/sample/sample.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/processes.ts';
import { startServer } from '../support/server.ts';
import { hasChromium, launchChromium } from './browser.ts';

const START_TIMEOUT = { timeout: 30_000 };

/** Starts `npm run demo`, which builds the page first. */
async function startDemo() {
  const port = String(await freePort());
  const demo = startProcess('npm', ['run', '--silent', 'demo'], { PORT: port });
  await expect.poll(demo.output, START_TIMEOUT).toContain('person30@example.com');
  return { ...demo, url: `http://127.0.0.1:${port}` };
}

describe('npm run demo', () => {
  test('serves the example web page at / and its files, but no other paths', async () => {
    await using demo = await startDemo();
    expect(demo.stdout()).toContain(`Try it in the browser  ${demo.url}\n`);
    const response = await fetch(demo.url);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const policy = response.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none';/);
    expect(policy).not.toMatch(/unsafe|\*|https?:(?!\/\/127\.0\.0\.1)/);
    const html = await response.text();
    const assets = [...html.matchAll(/(?:src|href)="\.\/(\S+)"/g)].map(([, path]) => path);
    expect(assets.length).toBeGreaterThan(2);
    for (const path of assets) {
      const { status, headers } = await fetch(`${demo.url}/${path}`);
      expect(status, path).toBe(200);
      const isImmutable = headers.get('cache-control')?.includes('immutable');
      expect(isImmutable, path).toBe(path?.startsWith('assets/'));
    }
    for (const path of ['/nothing.html', '/assets/', '/assets/nothing.js', '/src/main.ts']) {
      expect((await fetch(demo.url + path)).status, path).toBe(404);
    }
    expect((await fetch(demo.url, { method: 'POST' })).status).toBe(405);
  }, 60_000);

  test.skipIf(!hasChromium)(
    'serves a page in Chromium that complies with its Content-Security-Policy',
    async () => {
      await using demo = await startDemo();
      await using browser = await launchChromium();
      const page = await browser.newPage();
      const messages: string[] = [];
      page.on('console', (message) => messages.push(message.text()));
      page.on('pageerror', (error) => messages.push(error.message));
      await page.goto(`${demo.url}#/sign-in`);
      await page.locator('#sign-in-email').fill(DEMO_ACCOUNT.email);
      await page.locator('#sign-in-password').fill(DEMO_ACCOUNT.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('#avatar').setInputFiles('server/sample/avatar.jpg');
      for (const image of ['Preview of your new avatar', 'Your avatar']) {
        await expect
          .poll(() =>
            page.getByAltText(image).evaluate((each: HTMLImageElement) => each.naturalWidth),
          )
          .toBeGreaterThan(0);
      }
      await page.getByRole('button', { name: 'Delete account …' }).click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByText(/account .* deleted/).waitFor();
      expect(messages).toEqual([]);
    },
    60_000,
  );
});

test('npm start serves no page', async () => {
  await using server = await startServer();
  for (const path of ['/', '/index.html', '/favicon.svg']) {
    const response = await fetch(server.url + path);
    expect(response.status, path).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found' });
  }
});
