import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Locator, Page, Request, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startMock } from '../../mock/server.ts';
import { componentSchema, findOperation, operations } from '../../server/contract.ts';
import { importSample } from '../../server/sample/import-sample.ts';
import { DEMO_ACCOUNT } from '../../server/sample/sample.ts';
import { startApp, type TestApp } from '../support/app.ts';
import type { HttpServer } from '../support/http-server.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { freePort } from '../support/ports.ts';
import { createSpace as createSpaceAs, joinSpace, sendMessage } from '../support/spaces.ts';
import { hasChromium, launchChromium } from './browser.ts';
import {
  appears,
  confirm,
  describedBy,
  disappears,
  expectAccessible,
  fillSignIn,
  focusedText,
  isFocused,
  messageOf,
  openView,
  signIn,
  signUp,
  tabTo,
  write,
} from './page.ts';
import { buildWebPage, copyWebPage, documentedPolicy, serveSite } from './site.ts';

const AVATAR_FILE = 'server/sample/avatar.jpg';
const NEW_PASSWORD = 'honey on crumpets';
/** A public space of the sample, created by its user ada. */
const SPACE = '#/space?id=0195d3c4-11aa-7e0f-8a5b-6c7d8e9f0a1b';

let folder: string;
/** The copy of the page, outside of the repository. */
let copy: string;
let browser: Browser;
let service: TestApp;
let mailServer: MailServer;
/** The page, on another origin than the service. */
let site: HttpServer;
/** The operations that the page has called in all tests. */
const calledOperations = new Set<string>();

describe.skipIf(!hasChromium)('The example web page in Chromium', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'web-page-'));
    const dataDir = join(folder, 'data');
    const port = await freePort();
    [browser, copy] = await Promise.all([
      launchChromium(),
      copyWebPage(await mkdtemp(join(folder, 'copy-'))),
      importSample({ dataDir }),
    ]);
    mailServer = await startMailServer();
    service = await startApp({
      ...mailServer.settings,
      WEB_URL: `http://127.0.0.1:${port}`,
      DATA_DIR: dataDir,
      CORS_ORIGINS: `http://127.0.0.1:${port}`,
    });
    site = await openSite(service.url, port);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
    await mailServer?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  describe('searches as you type', () => {
    test('by text and by tag, with counts for screen readers', async () => {
      await using page = await open('#/');
      await page.getByRole('searchbox').pressSequentially('chess');
      for (const list of ['By text', 'By tag']) {
        await appears(
          page
            .getByRole('region', { name: list })
            .getByRole('link', { name: 'Chess', exact: true }),
        );
      }
      await appears(page.getByText(/^Spaces shown: \d+ by text, \d+ by tag\.$/));
      expect(new URL(page.url()).hash).toBe('#/?q=chess');
    });

    test('and cancels requests whose results are no longer wanted', async () => {
      await using page = await open('#/');
      // Requests for the first query are never answered.
      await page.route(/bread/, () => {});
      const failures: string[] = [];
      page.on('requestfailed', (request) =>
        failures.push(`${new URL(request.url()).pathname} ${request.failure()?.errorText}`),
      );
      const [request] = await Promise.all([
        page.waitForRequest(/search\?q=bread/),
        page.getByRole('searchbox').fill('bread'),
      ]);
      expect(request.failure()).toBeNull();
      await page.getByRole('searchbox').fill('astronomy');
      await appears(page.getByRole('link', { name: 'Astronomy', exact: true }));
      expect(failures.sort()).toEqual([
        '/api/spaces/search net::ERR_ABORTED',
        '/api/spaces/tag/bread net::ERR_ABORTED',
        '/api/tags net::ERR_ABORTED',
      ]);
      await disappears(page.getByRole('alert'));
    });

    test('and offers the query as typed after a correction', async () => {
      await using page = await open('#/');
      await page.getByRole('searchbox').fill('astronmy');
      const correction = page
        .getByRole('paragraph')
        .filter({ hasText: 'Also showing results for astronomy. Search only for astronmy.' });
      await appears(correction);
      await appears(page.getByRole('link', { name: 'Astronomy', exact: true }));
      await appears(page.getByText(/^Also showing results for astronomy\. Spaces shown/));

      await correction.getByRole('link', { name: 'astronmy' }).click();
      await appears(page.getByText('No space has these words'));
      await disappears(correction);
      expect(await isFocused(page.getByRole('searchbox'))).toBe(true);
    });

    test('and says so if spaces have only some of the words', async () => {
      await using page = await open('#/');
      await page.getByRole('searchbox').fill('Learn Rust, bread, garden');
      await appears(
        page.getByText(
          'Also showing results for some of the words. Search only for Learn Rust, bread, garden.',
        ),
      );
      await appears(page.getByRole('link', { name: 'Learning Rust', exact: true }));

      await page.getByRole('link', { name: 'Show all spaces by text' }).click();
      await appears(
        page.getByRole('heading', {
          name: 'Spaces about “Learn Rust, bread, garden” or some of the words',
        }),
      );
    });

    test('and shows the results of one search if the other one fails', async () => {
      await using page = await open('#/');
      await page.route(/api\/spaces\/tag/, (route) => route.abort());
      await page.getByRole('searchbox').fill('chess');
      await appears(page.getByText('The service cannot be reached.'));
      const byText = page.getByRole('region', { name: 'By text' });
      await appears(byText.getByRole('link', { name: 'Chess', exact: true }));
      await disappears(page.getByRole('region', { name: 'By tag' }));
      await appears(page.getByText(/^Spaces shown: \d+ by text\.$/));

      await page.unroute(/api\/spaces\/tag/);
      await page.getByRole('button', { name: 'Try again' }).click();
      const byTag = page.getByRole('region', { name: 'By tag' });
      await appears(byTag.getByRole('link', { name: 'Chess', exact: true }));
      await disappears(page.getByRole('alert'));
    });
  });

  test('counts the characters that are left, with the limits of the contract', async () => {
    await using page = await openSignedIn('#/new-space');
    const fieldOf = (name: string) => page.getByRole('textbox', { name });
    const expectLast = async (label: string, schema: string, property?: string) => {
      const { maxLength = 0 } = componentSchema(schema, property);
      await fieldOf(label).fill('a'.repeat(maxLength - 1));
      await expect.poll(() => describedBy(fieldOf(label))).toContain('1 character left');
    };
    await expectLast('Title', 'SpaceTitle');
    await expectLast('Description', 'SpaceDescription');
    await openView(page, SPACE);
    await page.getByRole('button', { name: 'Report message' }).first().click();
    await expectLast('Reason', 'ReportCreation', 'reason');
    await page.keyboard.press('Escape');
    await expectLast('Message', 'MessageText');
    // Two characters too many.
    await page.keyboard.type('aaa');
    await appears(page.getByText('2 characters too many'));
    await page.keyboard.press('Enter');
    expect(await fieldOf('Message').inputValue()).toMatch(/^a+$/);
    await openView(page, '#/profile');
    // What readers see as one character consists of several code points.
    await fieldOf('Bio').fill('👩‍🚀'.repeat(501));
    await appears(page.getByText('1 character too many'));
    await page.getByRole('button', { name: 'Save bio' }).click();
    await expect.poll(() => describedBy(fieldOf('Bio'))).toContain('500');
  });

  test('completes tags while they are typed', async () => {
    await using page = await open('#/');
    await appears(page.getByRole('list', { name: 'Popular tags' }).getByRole('link'));
    await page.getByRole('searchbox').fill('ches');
    const tags = page.getByRole('list', { name: 'Matching tags' });
    await tags.getByRole('link', { name: /^chess/i }).click();
    await appears(page.getByRole('heading', { name: /Spaces tagged “chess”/i }));
  });

  describe('lists spaces', () => {
    test('that are popular and new, before anything is typed', async () => {
      await using page = await open('#/');
      for (const list of ['Popular spaces', 'New spaces']) {
        const spaces = page.getByRole('region', { name: list });
        await appears(spaces.getByRole('heading', { level: 3 }));
        await spaces.getByRole('link', { name: `Show all ${list.toLowerCase()}` }).click();
        await appears(page.getByRole('heading', { level: 1, name: list }));
        await page.goBack();
      }
    });

    test('and loads their pages on scroll', async () => {
      await using page = await open('#/spaces?q=the');
      const titles = page.getByRole('main').getByRole('heading', { level: 3 });
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      await expect.poll(() => titles.count()).toBe(20);
      expect(requests.filter((url) => url.includes('cursor='))).toEqual([]);

      await page.keyboard.press('End');
      await expect.poll(() => titles.count()).toBe(40);
      expect(requests.filter((url) => url.includes('cursor='))).toHaveLength(1);
      expect(new Set(await titles.allTextContents()).size).toBe(40);

      const position = await page.evaluate(() => window.scrollY);
      await titles.nth(20).getByRole('link').focus();
      await page.keyboard.press('Enter');
      await appears(page.getByRole('region', { name: 'Conversation' }));
      await page.goBack();
      await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(position);
    });

    test('of another query, which it names above them', async () => {
      await using page = await open('#/spaces?q=astronmy');
      await appears(page.getByRole('heading', { name: 'Spaces about “astronmy” or “astronomy”' }));
      await appears(page.getByRole('link', { name: 'Astronomy', exact: true }));
    });

    test('of a query that is longer than the service accepts', async () => {
      await using page = await open('#/');
      await page.getByRole('searchbox').fill('chess '.repeat(40));
      await page.getByRole('link', { name: 'Show all spaces by text' }).click();
      await appears(page.getByRole('link', { name: 'Chess', exact: true }));
      await disappears(page.getByRole('alert'));
    });

    test('of a tag that is a dot', async () => {
      await using page = await open('#/spaces?tag=..');
      await appears(page.getByText('No space is in this list.'));
    });
  });

  describe('explains errors', () => {
    test('next to the fields that they are about', async () => {
      await using page = await open('#/sign-up');
      const username = page.getByRole('textbox', { name: 'Username' });
      const email = page.getByRole('textbox', { name: 'Email address' });
      const password = page.getByLabel('Password');
      const submit = page.getByRole('button', { name: 'Create account' });
      await username.fill('ADA');
      await email.fill('new@example.com');
      await password.fill(DEMO_ACCOUNT.password);
      await submit.click();
      await expect.poll(() => username.getAttribute('aria-invalid')).toBe('true');
      expect(await isFocused(username)).toBe(true);
      expect(await describedBy(username)).toContain('That username is taken');

      await username.fill('a');
      await email.fill('nonsense');
      await password.fill('short');
      await submit.click();
      await expect
        .poll(() => describedBy(username))
        .toContain('Username must have at least 2 characters.');
      expect(await describedBy(email)).toContain('Email address must be an email address.');
      expect(await describedBy(password)).toContain('Password must have at least 8 characters.');
    });

    test('of a wrong password in the form', async () => {
      await using page = await open('#/sign-in');
      await fillSignIn(page, 'wrong wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await appears(
        page.getByRole('alert').getByText('The email address or password is incorrect.'),
      );
    });

    test('of a rate limit with the remaining time', async () => {
      await using page = await open('#/sign-in');
      await page.route(/api\/spaces\?sort/, (route) =>
        route.fulfill({
          status: 429,
          headers: {
            'retry-after': '2',
            'content-type': 'application/problem+json',
            'access-control-allow-origin': '*',
            'access-control-expose-headers': 'retry-after',
          },
          json: { code: 'too_many_requests', detail: 'Too many.', errors: [] },
        }),
      );
      await openView(page, '#/');
      const failure = page.getByRole('region', { name: 'Popular spaces' }).getByRole('alert');
      await appears(failure.getByText('Too many requests. Try again in 2 seconds.'));
      const retry = failure.getByRole('button', { name: 'Try again' });
      expect(await retry.isDisabled()).toBe(true);
      await appears(failure.getByText('Try again now.'));
      await page.unroute(/api\/spaces\?sort/);
      await retry.click();
      await disappears(failure);
    });

    test('of a used-up quota, which differs from other limits', async () => {
      await using page = await openSignedIn('#/');
      await page.route(/api\/participations/, (route) =>
        route.fulfill({
          status: 429,
          headers: {
            'retry-after': '1500',
            'ratelimit-policy': '1000;w=3600',
            'content-type': 'application/problem+json',
            'access-control-allow-origin': '*',
            'access-control-expose-headers': 'Retry-After, RateLimit-Policy',
          },
          json: { code: 'too_many_requests', detail: 'Too many.', errors: [] },
        }),
      );
      await openView(page, '#/your-spaces');
      await page.reload();
      await appears(
        page.getByText('You have reached the limit of 1,000 per hour. Try again in 25 minutes.'),
      );
    });

    test('of a failure in the service with the id of the request, and without an empty list', async () => {
      await using page = await openSignedIn('#/');
      const problem = {
        status: 500,
        code: 'internal_error',
        detail: 'Something failed.',
        errors: [],
        request_id: '3f0c9a52',
      };
      await page.route(/api\/participations/, (route) =>
        route.fulfill({
          status: 500,
          headers: { 'access-control-allow-origin': '*' },
          contentType: 'application/problem+json',
          json: problem,
        }),
      );
      await openView(page, '#/your-spaces');
      await page.reload();
      await appears(page.getByRole('alert').getByText('Something failed. Request 3f0c9a52.'));
      expect(await page.getByText(/0 spaces/).count()).toBe(0);
    });

    test('of an ended session by asking to sign in, and keeps the form', async () => {
      await using page = await openSignedIn('#/new-space');
      await page.getByLabel('Title').fill('Kept');
      await replaceToken(page, 'sps_ended');
      await page.getByRole('button', { name: 'Create space' }).click();
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      await appears(dialog);
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await expectAccessible(page, 'an ended session');
      expect(await dialog.getByLabel('Email address').inputValue()).toBe(DEMO_ACCOUNT.email);
      await dialog.getByLabel('Password').fill(DEMO_ACCOUNT.password);
      await dialog.getByRole('button', { name: 'Sign in' }).click();
      await disappears(dialog);
      await page.getByRole('button', { name: 'Create space' }).click();
      await appears(page.getByRole('heading', { level: 1, name: 'Kept' }));
    });

    test('except a 401 for an earlier session, which does not end the current one', async () => {
      await using page = await openSignedIn('#/profile');
      const { promise: isNextSession, resolve: startNextSession } = Promise.withResolvers<void>();
      await page.route(/api\/profile\/bio/, async (route) => {
        const headers = { ...route.request().headers(), authorization: 'Bearer sps_ended' };
        const response = await route.fetch({ headers });
        expect(response.status()).toBe(401);
        await isNextSession;
        await route.fulfill({ response });
      });
      const form = page.locator('form', { has: page.getByRole('button', { name: 'Save bio' }) });
      await page.getByRole('button', { name: 'Save bio' }).click();
      await expect.poll(() => form.getAttribute('aria-busy')).toBe('true');
      await replaceToken(page, 'sps_next');
      startNextSession();
      await expect.poll(() => form.getAttribute('aria-busy')).toBe('false');
      expect(await page.evaluate(() => localStorage.getItem('space-service-session'))).toContain(
        'sps_next',
      );
    });

    test('of an account without a session by asking to sign in, and Back returns to the view before', async () => {
      await using page = await open('#/');
      await openView(page, '#/profile');
      await appears(page.getByRole('heading', { name: 'Sign in' }));
      expect(await page.getByRole('dialog').count()).toBe(0);
      await page.goBack();
      expect(new URL(page.url()).hash).toBe('#/');
    });

    test('of a space that does not exist, without anything of the previous one', async () => {
      await using page = await open(SPACE);
      await appears(page.getByRole('article'));
      await openView(page, '#/space?id=unknown');
      await appears(page.getByText('There is no such space, or it is private.'));
      await appears(page.getByRole('heading', { level: 1, name: 'This space cannot be shown' }));
      expect(await page.getByRole('article').count()).toBe(0);
      // It would fail again.
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    });
  });

  test('shows no late response to a request of an earlier account', async () => {
    const [earlier, next] = [await service.register('earlier'), await service.register('next')];
    await using page = await open('#/');
    const { promise: isNextSession, resolve: startNextSession } = Promise.withResolvers<void>();
    await page.route(/api\/profile\/username/, async (route) => {
      const response = await route.fetch();
      await isNextSession;
      await route.fulfill({ response });
    });
    await signIn(page, earlier);
    await openView(page, '#/profile');
    await page.getByRole('textbox', { name: 'Username' }).fill('earlier2');
    await page.getByRole('button', { name: 'Save username' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, next);
    await openView(page, '#/profile');
    await appears(page.getByText(next.email));
    const arrives = page.waitForResponse(/api\/profile\/username/);
    startNextSession();
    await arrives;
    // Everything that the response causes happens before another request is answered.
    await page.getByRole('button', { name: 'Save bio' }).click();
    await appears(page.getByText('Your bio has been changed.'));
    expect(await page.getByText('earlier2').count()).toBe(0);
    await appears(page.getByText(next.email));
  });

  test('shows a profile with fields that a later version of the service has added', async () => {
    await using page = await open('#/sign-in');
    await page.route(/api\/profile\/me/, async (route) => {
      const response = await route.fetch();
      const profile = await response.json();
      const stats = { ...profile.stats, later_statistic: 1 };
      await route.fulfill({ response, json: { ...profile, stats, later_field: 'text' } });
    });
    await signIn(page);
    await openView(page, '#/profile');
    await appears(page.getByRole('term').filter({ hasText: 'Words written' }));
    expect(await page.getByRole('term').count()).toBe(4);
  });

  test('previews only files that are images', async () => {
    await using page = await openSignedIn('#/profile');
    const preview = page.getByAltText('Preview of your new avatar');
    await page.getByLabel('Avatar').setInputFiles(AVATAR_FILE);
    await appears(preview);
    await page.getByLabel('Avatar').setInputFiles('package.json');
    await disappears(preview);
    await page.getByRole('button', { name: 'Save avatar' }).click();
    await appears(page.getByText('The avatar must be a JPEG, PNG, WebP or GIF file.'));
  });

  test('rejects a file that is too large before it is uploaded', async () => {
    await using page = await openSignedIn('#/profile');
    const uploads: string[] = [];
    page.on('request', (request) => {
      if (/\/picture$/.test(request.url())) uploads.push(request.url());
    });
    const [name, mimeType] = ['large.jpg', 'image/jpeg'];
    const field = page.getByLabel('Avatar');
    await field.setInputFiles({ name, mimeType, buffer: Buffer.alloc(6 * 1024 * 1024) });
    await expect.poll(() => describedBy(field)).toContain('The file is larger than 5 MiB.');
    expect(await page.getByRole('button', { name: 'Save avatar' }).isDisabled()).toBe(true);
    expect(uploads).toEqual([]);
  });

  test('keeps an edited bio while another view is shown', async () => {
    await using page = await openSignedIn('#/profile');
    await page.getByLabel('Bio').fill('Not saved yet');
    await page.getByRole('link', { name: 'Your spaces', exact: false }).first().click();
    await appears(page.getByRole('heading', { level: 1, name: 'Your spaces' }));
    await page.goBack();
    await appears(page.getByLabel('Bio'));
    expect(await page.getByLabel('Bio').inputValue()).toBe('Not saved yet');
  });

  test('shows dialogs in the middle of the window', async () => {
    await using page = await openSignedIn('#/profile?section=data');
    await page.getByRole('button', { name: 'Delete account …' }).click();
    const margins = await page.getByRole('dialog').evaluate(async (dialog) => {
      await Promise.all(dialog.getAnimations().map(({ finished }) => finished));
      const { top, bottom, left, right } = dialog.getBoundingClientRect();
      const { clientWidth, clientHeight } = document.documentElement;
      return [top, clientHeight - bottom, left, clientWidth - right].map(Math.round);
    });
    expect(margins[0]).toBe(margins[1]);
    expect(margins[2]).toBe(margins[3]);
  });

  test('moves nothing when placeholders are replaced by content', async () => {
    await using page = await open('#/sign-in');
    const { promise: isShown, resolve: respond } = Promise.withResolvers<void>();
    await page.route(/api\/spaces\?/, async (route) => {
      const response = await route.fetch();
      await isShown;
      await route.fulfill({ response });
    });
    await openView(page, '#/');
    await appears(page.getByRole('heading', { name: 'Popular' }));
    const shift = page.evaluate(async () => {
      let sum = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) sum += (entry as unknown as { value: number }).value;
      }).observe({ type: 'layout-shift', buffered: false });
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return sum;
    });
    respond();
    await appears(page.getByRole('heading', { level: 3 }));
    // Google calls up to 0.1 good.
    expect(await shift).toBeLessThan(0.1);
  });

  test('can be used with the keyboard only', async () => {
    await using page = await open('#/');
    await appears(page.getByRole('searchbox'));
    await page.keyboard.press('Tab');
    expect(await focusedText(page)).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('trains');
    await appears(page.getByRole('region', { name: 'By text' }).getByRole('heading', { level: 3 }));
    await tabTo(page, 'Trains');
    await page.keyboard.press('Enter');
    const heading = page.getByRole('heading', { level: 1, name: 'Trains' });
    await expect.poll(() => isFocused(heading)).toBe(true);
    await tabTo(page, 'Sign in to join');
    await page.keyboard.press('Enter');
    await expect.poll(() => isFocused(page.getByRole('heading', { name: 'Sign in' }))).toBe(true);
    await page.keyboard.press('Tab');
    await page.keyboard.type(DEMO_ACCOUNT.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(DEMO_ACCOUNT.password);
    await page.keyboard.press('Enter');
    // Back in the space.
    await expect.poll(() => isFocused(heading)).toBe(true);

    await tabTo(page, 'Skip messages');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Join space');
    await page.keyboard.press('Enter');
    await appears(page.getByRole('button', { name: 'Leave space' }));
    await tabTo(page, 'Skip messages');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Leave space');
    await page.keyboard.press('Enter');
    await appears(page.getByRole('dialog', { name: 'Leave this space?' }));
    expect(await focusedText(page)).toBe('Stay');
    await page.keyboard.press('Escape');
    await disappears(page.getByRole('dialog'));
    expect(await focusedText(page)).toBe('Leave space');
    // The user has not left.
    await page.reload();
    await appears(page.getByRole('button', { name: 'Leave space' }));
  });

  const views: [name: string, address: string, content: (page: Page) => Locator][] = [
    ['the start', '#/', (page) => page.getByRole('heading', { level: 3 })],
    ['search results', '#/?q=chess', (page) => page.getByRole('region', { name: 'By tag' })],
    ['a correction', '#/?q=astronmy', (page) => page.getByText('Search only for')],
    ['a search without results', '#/?q=zzzz', (page) => page.getByText('No space has these words')],
    ['an unknown address', '#/nothing', (page) => page.getByText('There is no such page')],
    ['a list', '#/spaces?tag=music', (page) => page.getByRole('heading', { level: 3 })],
    ['an empty list', '#/spaces?tag=zzzz', (page) => page.getByText('No space is in this list.')],
    ['a space', SPACE, (page) => page.getByRole('article')],
    ['an error', '#/space?id=unknown', (page) => page.getByRole('alert')],
    ['an invitation', '#/space?id=unknown&invitation=x', (page) => page.getByText('are invited')],
    ['the sign-in', '#/sign-in', (page) => page.getByRole('heading', { name: 'Sign in' })],
    ['the sign-up', '#/sign-up', (page) => page.getByRole('heading', { name: 'Create' })],
  ];
  test('shows every view accessibly, on phones and in both themes', async () => {
    await using page = await open('#/');
    for (const [name, address, content] of views) {
      await openView(page, address);
      await appears(content(page));
      await expectAccessible(page, name);
    }
  });

  const viewsOfUsers: typeof views = [
    ['the start of a user', '#/', (page) => page.getByRole('region', { name: 'Your spaces' })],
    ['the spaces of a user', '#/your-spaces', (page) => page.getByRole('heading', { level: 3 })],
    ['a new space', '#/new-space', (page) => page.getByRole('heading', { name: 'New space' })],
    ['a space of the user', SPACE, (page) => page.getByRole('button', { name: 'Send' })],
    [
      'what a space is about, on phones',
      `${SPACE}&view=about`,
      (page) => page.getByRole('button', { name: 'Edit space' }),
    ],
    ['an account', '#/profile', (page) => page.getByLabel('Bio')],
    ['its security', '#/profile?section=security', (page) => page.getByText('This device')],
  ];
  const dialogs: [address: string, button: string | RegExp][] = [
    ['#/profile?section=data', 'Delete account …'],
    [SPACE, 'Edit space'],
    [SPACE, 'Delete space …'],
    [SPACE, /^Remove /],
    [SPACE, 'Report message'],
    [SPACE, 'Delete message'],
  ];
  test('shows the views of users, errors of forms and dialogs accessibly', async () => {
    await using page = await openSignedIn('#/');
    for (const [name, address, content] of viewsOfUsers) {
      await openView(page, address);
      await appears(content(page));
      await expectAccessible(page, name);
    }
    await openView(page, '#/profile');
    await page.getByRole('textbox', { name: 'Username' }).fill('a');
    await page.getByRole('button', { name: 'Save username' }).click();
    await appears(page.getByText('Username must have at least 2 characters.'));
    await expectAccessible(page, 'errors');
    for (const [address, name] of dialogs) {
      await openView(page, address);
      await page.getByRole('button', { name }).first().click();
      const buttons = page.getByRole('dialog').getByRole('button');
      await appears(buttons);
      await expectAccessible(page, `the dialog of ${name}`);
      // What sends it looks like a button, wherever the dialog is in the page.
      const style = await buttons.last().evaluate((button) => {
        (document.activeElement as HTMLElement).blur();
        const { backgroundColor, opacity } = getComputedStyle(button);
        return { backgroundColor, opacity };
      });
      expect(style, `the dialog of ${name}`).toEqual({
        backgroundColor: expect.not.stringMatching(/transparent|, 0\)$/),
        opacity: '1',
      });
      await page.keyboard.press('Escape');
    }
  });

  test('shows views accessibly while they load, and when there were too many requests', async () => {
    await using page = await openSignedIn('#/sign-in');
    const addresses = ['#/', '#/?q=chess', '#/spaces', '#/your-spaces', SPACE, '#/profile'];
    await page.route(/\/api\//, () => {});
    for (const address of addresses) {
      await openView(page, address);
      await page.reload();
      await appears(page.getByRole('status').filter({ hasText: 'Loading …' }));
      await expectAccessible(page, `${address} while it loads`);
    }
    await page.unroute(/\/api\//);
    await page.route(/\/api\//, (route) =>
      route.fulfill({
        status: 429,
        headers: {
          'access-control-allow-origin': '*',
          'access-control-expose-headers': 'Retry-After',
          'retry-after': '90',
        },
        contentType: 'application/problem+json',
        body: '{"status":429,"code":"too_many_requests","errors":[]}',
      }),
    );
    for (const address of addresses) {
      await openView(page, address);
      await page.reload();
      await appears(page.getByText(/Too many requests\. Try again in \d+ seconds\./));
      await expectAccessible(page, `${address} after too many requests`);
    }
  });

  describe('leads through the life of an account', () => {
    test('on a server at another origin', async () => {
      await using page = await open('#/sign-up');
      await signUp(page, 'newcomer');
      await appears(page.getByText('Welcome, newcomer.'));
      await changeProfile(page);
      await appears(page.getByRole('region', { name: 'Summary' }).getByText('newcomer2'));

      await page.reload();
      await appears(page.getByRole('region', { name: 'Summary' }).getByText('newcomer2'));
      expect(await page.getByLabel('Bio').inputValue()).toBe('Two lines\nof text');
      await page.getByRole('button', { name: 'Remove avatar' }).click();
      await appears(page.getByText('Your avatar has been removed.'));
      await page.getByRole('link', { name: 'Your data' }).click();

      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download all data' }).click(),
      ]);
      const data = JSON.parse(await readFile(await download.path(), 'utf8'));
      expect(data.account.username).toBe('newcomer2');

      // Another device.
      await using other = await open('#/sign-in');
      await signIn(other, { email: 'newcomer@example.com', password: NEW_PASSWORD });
      await page.getByRole('link', { name: 'Security' }).click();
      await page.getByRole('button', { name: /^End the session/ }).click();
      await appears(page.getByText('1 session.'));
      // Loads the sessions. The profile may still be cached.
      await openView(other, '#/profile?section=security');
      await appears(other.getByRole('dialog', { name: 'Your session has ended' }));

      const programs = page.getByRole('region', { name: 'Access for programs' });
      await programs.getByRole('button', { name: 'Create access token' }).click();
      await appears(programs.getByText(/^Name must have at least 1 character/));
      await programs.getByRole('textbox', { name: 'Name', exact: true }).fill('Bot');
      await programs.getByLabel(/^Read everything/).uncheck();
      await programs.getByRole('button', { name: 'Create access token' }).click();
      await appears(programs.getByText('Choose at least one.'));
      await programs.getByLabel(/^Read everything/).check();
      await programs.getByLabel(/^Create and join/).check();
      await programs.getByRole('button', { name: 'Create access token' }).click();
      await appears(programs.getByText('read, write. Created'));
      const token = await programs.getByLabel('New access token').inputValue();
      const request = () =>
        fetch(`${service.url}/api/profile/me`, { headers: { authorization: `Bearer ${token}` } });
      expect((await request()).status).toBe(200);
      await expectAccessible(page, 'the access tokens of programs');
      await confirm(programs.getByRole('button', { name: 'Revoke' }), 'Revoke access token');
      await appears(page.getByText('The access token is revoked.'));
      expect((await request()).status).toBe(401);

      await page.getByRole('button', { name: 'Sign out' }).click();
      await appears(page.getByText('You are signed out.'));
      // The button with the focus has disappeared.
      await expect.poll(() => focusedText(page)).toBe('Find your space');

      await signIn(page, { email: 'newcomer@example.com', password: NEW_PASSWORD });
      await deleteAccount(page);

      await openView(page, '#/sign-in');
      await fillSignIn(page, NEW_PASSWORD, 'newcomer@example.com');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await appears(page.getByText('The email address or password is incorrect.'));
    });

    test.each([
      ['the mock server', false],
      ['the mock server with --stateful', true],
    ])('on %s', async (_, isStateful) => {
      await using mock = await startMock({ host: '127.0.0.1', port: 0, isStateful });
      await using mockSite = await openSite(mock.url);
      await using page = await browser.newPage();
      await page.goto(`${mockSite.url}#/?q=sourdough`);
      await appears(
        page.getByRole('region', { name: 'By text' }).getByRole('heading', { level: 3 }),
      );
      await signUp(page, 'newcomer');
      await changeProfile(page);
      await deleteAccount(page);

      // The mock responds with any documented error.
      const explanations = {
        429: /Too many requests\. Try again in \d+ (second|minute)s?\./,
        503: /The service is busy\. Try again in \d+ seconds?\./,
      };
      for (const [status, explanation] of Object.entries(explanations)) {
        await page.setExtraHTTPHeaders({ prefer: `code=${status}` });
        await openView(page, '#/sign-in');
        await page.reload();
        await fillSignIn(page, NEW_PASSWORD);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await appears(page.getByRole('alert').getByText(explanation));
      }
    });
  });

  describe('shows a conversation', () => {
    test('live in two browsers, one of which loses its connection', async () => {
      const [writer, reader] = [await service.register(), await service.register()];
      await using page = await open('#/sign-in');
      await using other = await open('#/sign-in');
      await Promise.all([signIn(page, writer), signIn(other, reader)]);
      const address = await createSpace(page, 'Lighthouses', 'public');
      await openView(other, address);
      await other.getByRole('button', { name: 'Join space' }).click();
      await appears(other.getByText('Nobody has written here yet.'));

      await write(page, 'Hello from the coast');
      await appears(messageOf(other, 'Hello from the coast'));
      await messageOf(other, 'Hello from the coast')
        .getByRole('button', { name: /^Appreciate/ })
        .click();
      const appreciations = messageOf(page, 'Hello from the coast').getByText('1 appreciation');
      await appears(appreciations);
      await messageOf(page, 'Hello from the coast')
        .getByRole('button', { name: 'Who appreciates' })
        .click();
      await appears(page.getByRole('dialog').getByText(reader.username));
      await expectAccessible(page, 'the list of those who appreciate a message');
      await page.getByRole('button', { name: 'Close' }).click();
      await messageOf(other, 'Hello from the coast')
        .getByRole('button', { name: /^Appreciate .* 1$/, pressed: true })
        .click();
      await disappears(appreciations);

      await write(page, 'Charts (https://example.com/Coast_(chart)?of=north).');
      const link = messageOf(other, 'Charts').getByRole('link', { name: /^https/ });
      expect(await link.getAttribute('href')).toBe('https://example.com/Coast_(chart)?of=north');

      await other.context().setOffline(true);
      await appears(other.getByText('You are offline.'));
      // The message does not push the field out of the window.
      expect(await other.evaluate(() => document.documentElement.scrollHeight)).toBe(720);
      await write(other, 'First from the cellar');
      await write(other, 'Second from the cellar');
      const unsent = messageOf(other, 'First from the cellar');
      await appears(unsent.getByText('Waiting to be sent. You are offline.'));
      await write(page, 'Written meanwhile');
      await expectAccessible(other, 'unsent messages');

      await other.context().setOffline(false);
      for (const each of [page, other]) {
        await appears(messageOf(each, 'Second from the cellar'));
        await appears(messageOf(each, 'Written meanwhile'));
      }
      await disappears(other.getByText('Waiting to be sent.'));
      await disappears(other.getByText('You are offline.'));
      const texts = await page.getByRole('article').allTextContents();
      expect(texts.filter((text) => text.includes('cellar'))).toHaveLength(2);

      // A message is edited in its place, and the edit waits, too.
      await other.context().setOffline(true);
      const edited = messageOf(other, 'First from the cellar');
      await edited.hover();
      await edited.getByRole('button', { name: 'Edit message' }).click();
      const field = other.getByRole('textbox', { name: 'Text' });
      expect(await isFocused(field)).toBe(true);
      await expectAccessible(other, 'a message that is edited');
      await field.press('Escape');
      await disappears(field);
      await edited.getByRole('button', { name: 'Edit message' }).click();
      await field.fill('First from the attic');
      await field.press('Enter');
      const unsaved = messageOf(other, 'First from the attic');
      await appears(unsaved.getByText('Waiting to be saved. You are offline.'));
      await other.context().setOffline(false);
      await appears(messageOf(page, 'First from the attic').getByText('edited', { exact: true }));
      await disappears(unsaved.getByText('Waiting to be saved.'));

      // An answer leads to the message that it is about.
      await messageOf(page, 'First from the attic').hover();
      await messageOf(page, 'First from the attic')
        .getByRole('button', { name: 'Reply to message' })
        .click();
      await page.keyboard.type('How is the view?');
      await page.keyboard.press('Enter');
      const original = messageOf(other, 'How is the view?').getByRole('link', {
        name: `${reader.username}: First from the attic`,
      });
      await expectAccessible(other, 'an answer');
      await original.click();
      await expect.poll(() => focusedText(other)).toMatch(/First from the attic$/);

      // A search leads to the message, too.
      await page.getByRole('button', { name: 'Find messages' }).click();
      await page.getByRole('searchbox', { name: 'Words of a message' }).fill('"the attic"');
      const result = page.getByRole('dialog').getByRole('link', { name: /First from the attic/ });
      await appears(result);
      await expectAccessible(page, 'found messages');
      await page.getByRole('searchbox').fill('lighthouse keeper');
      await appears(page.getByRole('dialog').getByText('No message has these words.'));
      await page.getByRole('searchbox').fill('attic');
      await result.click();
      await disappears(page.getByRole('dialog'));
      await expect.poll(() => focusedText(page)).toMatch(/First from the attic/);

      // Everything that has been shown for a moment is read.
      await openView(other, '#/your-spaces');
      await write(page, 'Unread');
      await appears(other.getByRole('heading', { level: 3, name: /Lighthouses.* unread/ }));
      await appears(other.getByRole('link', { name: 'Your spaces 1 unread' }));
      await openView(other, address);
      await appears(other.getByText('New', { exact: true }));

      const sent = messageOf(page, 'Written meanwhile');
      await sent.hover();
      await sent.getByRole('button', { name: 'Edit message' }).click();
      await page.getByRole('textbox', { name: 'Text' }).fill('Written meanwhile, and edited');
      await page.getByRole('button', { name: 'Save' }).click();
      await appears(
        messageOf(other, 'Written meanwhile, and edited').getByText('edited', { exact: true }),
      );
      await confirm(sent.getByRole('button', { name: 'Delete message' }), 'Delete');
      await disappears(messageOf(other, 'Written meanwhile'));
      // Keyboards and screen readers stay in the conversation.
      const focused = () =>
        page.evaluate(() => document.activeElement?.closest('section')?.ariaLabel);
      await expect.poll(focused).toBe('Messages');
      await confirm(other.getByRole('button', { name: 'Leave space' }), 'Leave');
      await appears(other.getByRole('button', { name: 'Join space' }));
      expect(await other.evaluate(() => document.activeElement?.tagName)).not.toBe('BODY');

      // Where the message of a link would be, the conversation says that it is gone.
      await openView(other, `${address}&message=deleted`);
      await appears(other.getByRole('alert').getByText('There is no such message'));
    });

    test('marks messages as read at intervals, and when the reader leaves', async () => {
      const writer = await service.register();
      await using page = await open('#/sign-in');
      await signIn(page, writer);
      await createSpace(page, 'Ferries', 'public');
      let markings = 0;
      page.on('request', (request) => {
        if (request.method() !== 'OPTIONS' && /\/read$/.test(request.url())) markings += 1;
      });
      await write(page, 'First crossing');
      await expect.poll(() => markings, { timeout: 10_000 }).toBe(1);
      await write(page, 'Second crossing');
      await disappears(page.getByText('Sending …'));
      // Longer than a message is shown until it counts as read.
      await sleep(2_500);
      expect(markings).toBe(1);
      await openView(page, '#/your-spaces');
      await expect.poll(() => markings, { timeout: 10_000 }).toBe(2);
    });

    test('marks a message that arrives in a hidden tab as read when the reader returns', async () => {
      const writer = await service.register();
      await using page = await open('#/sign-in');
      await signIn(page, writer);
      await createSpace(page, 'Night trains', 'public');
      await appears(page.getByText('Nobody has written here yet.'));
      const markings: string[] = [];
      page.on('request', (request) => {
        if (/\/read$/.test(request.url())) markings.push(request.url());
      });
      const setHidden = (hidden: boolean) =>
        page.evaluate((value) => {
          Object.defineProperty(document, 'hidden', { value, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        }, hidden);
      await setHidden(true);
      await write(page, 'All aboard');
      await disappears(page.getByText('Sending …'));
      // Longer than a message is shown until it counts as read.
      await sleep(2_500);
      expect(markings).toEqual([]);
      await setHidden(false);
      await expect.poll(() => markings.length, { timeout: 10_000 }).toBeGreaterThan(0);
    });

    test('whose messages are sent by themselves, once, when the service and the network permit it', async () => {
      const writer = await service.register();
      await using page = await open('#/sign-in');
      await signIn(page, writer);
      await createSpace(page, 'Echoes', 'public');
      const headers = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' };
      const html = {
        headers,
        contentType: 'text/html',
        body: 'Sign in to the network of the hotel',
      };
      const responses: ((route: Route) => Promise<void>)[] = [
        (route) => route.fulfill({ status: 503, headers: { ...headers, 'retry-after': '1' } }),
        (route) => route.fulfill({ status: 200, ...html }),
        // The service has received it, but the response is lost, also of the repetition.
        async (route) => {
          await route.fetch();
          await route.abort();
        },
        (route) => route.abort(),
      ];
      await page.route(/api\/messages$/, async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        await sleep(500);
        await (responses.shift()?.(route) ?? route.continue());
      });
      const reads: string[] = [];
      page.on('request', (request) => {
        if (/api\/messages\?(?!.*after=)/.test(request.url())) reads.push(request.url());
      });
      await write(page, 'First of two');
      await write(page, 'Second of two');
      for (const reason of [
        'The service is busy.',
        'Another server responded.',
        'The service cannot be reached.',
      ]) {
        await appears(messageOf(page, 'Second of two').getByText(`Waiting to be sent. ${reason}`));
      }
      await disappears(page.getByText(/^(Waiting|Sending)/).first());
      await disappears(page.getByText(/^(Waiting|Sending)/).first());
      const texts = await page.getByRole('article').allTextContents();
      expect(texts.map((text) => /(First|Second) of two/.exec(text)?.[0])).toEqual([
        'First of two',
        'Second of two',
      ]);
      // The messages that are loaded are not loaded again.
      expect(reads).toEqual([]);
    });

    test('with a latency of 500 ms: each message is shown once, and nothing is loaded again before the next one', async () => {
      const writer = await service.register();
      await using page = await open('#/sign-in');
      await signIn(page, writer);
      const id = idIn(await createSpace(page, 'Slow trains', 'public'));
      await openView(page, '#/');
      const headers = { ...writer.headers, 'content-type': 'application/json' };
      for (let number = 1; number <= 110; number += 1) {
        const body = JSON.stringify({ space_id: id, text: `Earlier ${number}.` });
        await service.fetch('/api/messages', { method: 'POST', headers, body });
      }
      // Own messages are not unread, so it begins at the newest.
      await openView(page, `#/space?id=${id}`);
      const list = page.getByRole('region', { name: 'Messages' });
      await appears(messageOf(page, 'Earlier 110.'));
      while (!(await page.getByText('The beginning of this space.').isVisible())) {
        await list.press('Home');
      }
      await page.route(/\/api\//, async (route) => {
        await sleep(500);
        await route.continue();
      });
      const requests: string[] = [];
      page.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url());
        if (request.method() === 'OPTIONS' || searchParams.has('wait')) return;
        requests.push(`${request.method()} ${pathname.replace(id, 'id')}`);
      });
      const maxCopies = page.evaluate(() => {
        let max = 0;
        const count = (text: string) =>
          [...document.querySelectorAll('article')].filter((each) =>
            each.textContent?.includes(text),
          ).length;
        new MutationObserver(() => {
          max = Math.max(max, count('One.'), count('Two.'), count('Three.'));
        }).observe(document, { childList: true, subtree: true });
        return new Promise<number>((resolve) => {
          window.addEventListener('counted', () => resolve(max));
        });
      });
      for (const text of ['One.', 'Two.', 'Three.']) await write(page, text);
      await appears(messageOf(page, 'Three.').getByRole('link', { name: 'Link to message' }));
      await page.evaluate(() => window.dispatchEvent(new Event('counted')));
      expect(await maxCopies).toBe(1);
      const lists = requests.filter((request) => request === 'GET /api/messages');
      expect(lists).toEqual([]);
      expect(requests.filter((request) => request === 'POST /api/messages')).toHaveLength(3);
      // Besides it, the counts of unread messages and words.
      expect(requests.length).toBeLessThanOrEqual(3 * 6);
    });

    test('live in eight tabs of a browser, which opens six connections to the service', async () => {
      const [reader, writer] = [await service.register(), await service.register()];
      await using context = await browser.newContext();
      const waiting = { messages: 0, participations: 0 };
      const count = (change: number) => (request: Request) => {
        const [, list] = /api\/(messages|participations)\?.*wait=/.exec(request.url()) ?? [];
        if (list && request.method() === 'GET') waiting[list as keyof typeof waiting] += change;
      };
      context.on('request', count(1));
      context.on('requestfinished', count(-1));
      context.on('requestfailed', count(-1));
      const page = await context.newPage();
      await page.goto(site.url);
      await signIn(page, reader);
      const address = await createSpace(page, 'Octopuses', 'public');
      const tabs = [page];
      while (tabs.length < 8) {
        const tab = await context.newPage();
        // With a waiting request for each tab, the next one would load after 25 seconds.
        tab.setDefaultTimeout(10_000);
        await tab.goto(site.url + address);
        await appears(tab.getByText('Nobody has written here yet.'));
        tabs.push(tab);
      }
      await write(page, 'In all arms');
      for (const tab of tabs) await appears(messageOf(tab, 'In all arms'));
      await expect.poll(() => waiting).toEqual({ messages: 1, participations: 1 });

      // What happens in another space, too.
      const squids = await createSpaceAs(writer, { title: 'Squids' });
      await joinSpace(reader, squids);
      await sendMessage(writer, squids, 'In deep water');
      for (const tab of tabs) {
        await expect.poll(() => tab.title()).toBe('(1) Octopuses – Spaces');
        await appears(tab.getByRole('link', { name: 'Your spaces 1 unread' }));
      }
      const [, list, other] = tabs as [Page, Page, Page];
      await openView(list, '#/your-spaces');
      const row = list
        .getByRole('listitem')
        .filter({ hasText: `${writer.username}: In deep water` });
      await appears(row.getByRole('heading', { name: /Squids.* 1 unread/ }));
      await openView(other, `#/space?id=${squids.space_id}`);
      await confirm(other.getByRole('button', { name: 'Leave space' }), 'Leave');
      await disappears(row);
      for (const tab of tabs) await expect.poll(() => tab.title()).not.toContain('(1)');
      await expect.poll(() => waiting.participations).toBe(1);

      await page.getByRole('link', { name: 'Account', exact: true }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      for (const tab of tabs)
        await appears(tab.getByRole('link', { name: 'Sign in', exact: true }));
      await expect.poll(() => waiting.participations).toBe(0);
    });

    test('without an appreciation whose request has failed', async () => {
      const [writer, reader] = [await service.register(), await service.register()];
      await using page = await open('#/sign-in');
      await using other = await open('#/sign-in');
      await signIn(page, writer);
      await signIn(other, reader);
      const address = await createSpace(page, 'Applause', 'public');
      await openView(other, address);
      await write(page, 'Nobody claps');
      const { promise: isShown, resolve: fail } = Promise.withResolvers<void>();
      await other.route(/\/appreciation$/, async (route) => {
        await isShown;
        await route.abort();
      });
      const message = messageOf(other, 'Nobody claps');
      await message.getByRole('button', { name: 'Appreciate' }).click();
      await appears(message.getByRole('button', { name: /^Appreciate .* 1$/, pressed: true }));
      fail();
      await appears(message.getByRole('button', { name: 'Appreciate', pressed: false }));
    });

    test('and loads it again if the position of the reader is no longer valid', async () => {
      const writer = await service.register();
      await using page = await open('#/sign-in');
      await signIn(page, writer);
      // As after an upgrade of the server. More than once, because the page may cancel a request.
      const readsAfter = /api\/messages\?.*after=/;
      await page.route(readsAfter, (route) =>
        route.continue({
          url: route
            .request()
            .url()
            .replace(/after=[\w-]+/, 'after=old'),
        }),
      );
      const [rejected] = await Promise.all([
        page.waitForResponse((response) => response.status() === 400),
        createSpace(page, 'Upgrades', 'public'),
      ]);
      await page.unroute(readsAfter);
      expect(await rejected.json()).toMatchObject({ code: 'invalid_cursor' });
      await service.fetch('/api/messages', {
        method: 'POST',
        headers: { ...writer.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ space_id: idIn(page.url()), text: 'Sent meanwhile' }),
      });
      await appears(messageOf(page, 'Sent meanwhile'));
      await write(page, 'Sent afterwards');
      await appears(messageOf(page, 'Sent afterwards'));
    });

    test('that begins at the first unread message, and is read as far as it was shown', async () => {
      const [writer, reader] = [await service.register(), await service.register()];
      await using page = await open('#/sign-in');
      await signIn(page, writer);
      const address = await createSpace(page, 'Long talks', 'public');
      const id = idIn(address);
      const send = async (number: number) => {
        const body = JSON.stringify({ space_id: id, text: `Number ${number}.` });
        const headers = { ...writer.headers, 'content-type': 'application/json' };
        await service.fetch('/api/messages', { method: 'POST', headers, body });
      };
      await send(1);
      await using other = await open('#/sign-in');
      await signIn(other, reader);
      await openView(other, address);
      await other.getByRole('button', { name: 'Join space' }).click();
      // The button has disappeared.
      await expect.poll(() => focusedText(other)).toBe('Send');
      await openView(other, '#/');
      for (let number = 2; number <= 71; number += 1) await send(number);
      const messages = other.getByRole('region', { name: 'Messages' });
      const isShown = async (locator: Locator) =>
        // Later messages are loaded when the reader comes near them.
        (await locator.count()) > 0 &&
        locator.evaluate((element) => {
          const { top, bottom } = element.getBoundingClientRect();
          return top >= 0 && bottom <= window.innerHeight;
        });
      const unread = async () => {
        const response = await service.fetch(`/api/participations/${id}`, reader);
        return ((await response.json()) as { unread_count: number }).unread_count;
      };
      const marked = other.waitForResponse(/\/read$/);
      await openView(other, address);
      await appears(messageOf(other, 'Number 2.'));
      expect(await isShown(messageOf(other, 'Number 2.'))).toBe(true);
      expect(await isShown(messageOf(other, 'Number 71.'))).toBe(false);
      // With its author, although the one before has the same.
      await appears(messageOf(other, 'Number 2.').getByRole('link', { name: writer.username }));
      await marked;
      expect(await unread()).toBeGreaterThan(50);

      await other.getByRole('button', { name: 'New messages' }).click();
      await expect.poll(() => isShown(messageOf(other, 'Number 71.'))).toBe(true);
      await messages.focus();
      const begin = async () => {
        await other.keyboard.press('Home');
        return other.getByText('The beginning of this space.').isVisible();
      };
      await expect.poll(begin).toBe(true);
      await other.keyboard.press('Home');
      await expect.poll(() => isShown(messageOf(other, 'Number 1.'))).toBe(true);
      await send(72);
      await appears(other.getByRole('button', { name: 'New messages' }));
      expect(await isShown(messageOf(other, 'Number 1.'))).toBe(true);
      await openView(other, '#/');
      await expect.poll(unread).toBe(1);
    });

    test('that begins at the message of a link, and in which names are completed', async () => {
      const [writer, reader] = [await service.register(), await service.register('Ada Lovelace')];
      await using page = await open('#/sign-in');
      await signIn(page, writer);
      const address = await createSpace(page, 'Long letters', 'public');
      const space_id = idIn(address);
      await service.fetch(`/api/participations/${space_id}`, { method: 'PUT', ...reader });
      const ids: string[] = [];
      for (let number = 1; number <= 120; number += 1) {
        const body = JSON.stringify({ space_id, text: `Number ${number}.` });
        const headers = { ...writer.headers, 'content-type': 'application/json' };
        const response = await service.fetch('/api/messages', { method: 'POST', headers, body });
        ids.push(((await response.json()) as { message_id: string }).message_id);
      }
      await openView(page, `${address}&message=${ids[9]}`);
      // Not with the messages that the page received while it showed the space.
      await page.reload();
      await expect.poll(() => focusedText(page)).toMatch(/Number 10\.$/);
      await disappears(messageOf(page, 'Number 120.'));
      // Reads on to the newest messages, and follows them.
      await page.getByRole('region', { name: 'Messages' }).focus();
      const end = async () => {
        await page.keyboard.press('End');
        return messageOf(page, 'Number 120.').isVisible();
      };
      await expect.poll(end).toBe(true);
      await disappears(page.getByText('Loading later messages'));

      const field = page.getByRole('textbox', { name: 'Message' });
      await field.pressSequentially('Thanks, @ad');
      const option = page.getByRole('option', { name: 'Ada Lovelace', selected: true });
      await appears(option);
      await expectAccessible(page, 'the completion of a name');
      await field.press('Escape');
      await disappears(option);
      await field.press('a');
      await appears(option);
      await field.press('Enter');
      await field.press('!');
      expect(await field.inputValue()).toBe('Thanks, @Ada Lovelace !');
      await field.press('Enter');
      const sent = messageOf(page, 'Thanks');
      await appears(sent.getByRole('link', { name: 'Ada Lovelace' }));
      await expectAccessible(page, 'a mention');

      // The beginning of an answered message leads to it, or shows all of it.
      await field.fill(`${'Very long. '.repeat(20)}The end.`);
      await field.press('Enter');
      await messageOf(page, 'The end.').hover();
      await messageOf(page, 'The end.').getByRole('button', { name: 'Reply to message' }).click();
      await page.keyboard.type('Short.');
      await page.keyboard.press('Enter');
      const answer = messageOf(page, 'Short.');
      await answer.getByRole('button', { name: /^Show all/, expanded: false }).click();
      await appears(answer.getByText('The end.'));
      await expectAccessible(page, 'an answer with the whole message');

      await using other = await open('#/sign-in');
      await signIn(other, reader);
      await openView(other, '#/your-spaces');
      await appears(other.getByRole('heading', { level: 3, name: /Long letters.*1 mention you/ }));
    });

    test('with text that is read from right to left', async () => {
      const writer = await service.register();
      await using page = await open('#/sign-in');
      await signIn(page, writer);
      await createSpace(page, 'مساحة للشعر', 'public');
      await write(page, 'مرحبا بالجميع');
      const direction = (locator: Locator) =>
        locator.evaluate((element) => getComputedStyle(element).direction);
      expect(await direction(page.getByRole('heading', { level: 1 }))).toBe('rtl');
      const text = page.getByText('مرحبا بالجميع');
      await appears(text);
      expect(await direction(text)).toBe('rtl');
    });
  });

  test('does not divide a tag with a comma when another field of a space is changed', async () => {
    const creator = await service.register();
    const headers = { ...creator.headers, 'content-type': 'application/json' };
    const tags = ['salt, pepper', 'herbs'];
    const body = JSON.stringify({ title: 'Spices', description: '', visibility: 'public', tags });
    const created = await service.fetch('/api/spaces', { method: 'POST', headers, body });
    const { space_id } = (await created.json()) as { space_id: string };
    await using page = await open('#/sign-in');
    await signIn(page, creator);
    await openView(page, `#/space?id=${space_id}`);
    await page.getByRole('button', { name: 'Edit space' }).click();
    await page.getByLabel('Title').fill('Spices and herbs');
    await page.getByRole('button', { name: 'Save space' }).click();
    await appears(page.getByRole('heading', { level: 1, name: 'Spices and herbs' }));
    await appears(page.getByRole('link', { name: 'salt, pepper' }));
  });

  test('leads through the life of a private space', async () => {
    const [creator, guest] = [await service.register('keeper'), await service.register('guest')];
    await using page = await open('#/sign-in');
    await using other = await open('#/sign-in');
    await Promise.all([signIn(page, creator), signIn(other, guest)]);
    const address = await createSpace(page, 'Secret garden', 'private');
    await page.getByRole('button', { name: 'Renew link' }).click();
    await appears(page.getByText('The old link no longer works.'));
    const invitation = await page.getByLabel('Invitation link').inputValue();
    await expectAccessible(page, 'an invitation link');

    await openView(other, address);
    await appears(other.getByText('There is no such space, or it is private.'));
    await other.goto(invitation);
    await other.getByRole('button', { name: 'Join space' }).click();
    await appears(other.getByRole('heading', { name: 'Secret garden' }));
    await write(other, 'Good evening');
    await appears(messageOf(page, 'Good evening'));

    await page.getByRole('button', { name: 'Edit space' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Description').fill('Roses and gates.');
    await dialog.getByLabel('Tags').fill('roses, gates');
    // The creator has changed it on another device meanwhile.
    await service.fetch(`/api/spaces/${idIn(address)}`, {
      method: 'PATCH',
      headers: { ...creator.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'Ivy.' }),
    });
    await dialog.getByRole('button', { name: 'Save space' }).click();
    await dialog.getByRole('button', { name: 'Show the current version' }).click();
    await appears(dialog.getByText('Ivy.'));
    await dialog.getByLabel('Tags').fill('roses, gates');
    await dialog.getByRole('button', { name: 'Save space' }).click();
    await appears(page.getByRole('link', { name: 'gates' }));

    // A link to one message.
    const message = messageOf(other, 'Good evening');
    await message.hover();
    await message.getByRole('link', { name: 'Link to message' }).click();
    await expect.poll(() => focusedText(other)).toMatch(/Good evening/);

    // A moderator deletes messages of others.
    await page.reload();
    await confirm(page.getByRole('button', { name: 'Make guest a moderator' }), 'Make moderator');
    await appears(page.getByText('guest is a moderator.'));
    await appears(other.getByRole('button', { name: 'Delete message “Good evening”' }));
    await appears(other.getByRole('button', { name: 'Resign' }));
    expect(await other.getByRole('button', { name: 'Remove guest' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Dismiss guest as a moderator' }).click();
    await appears(page.getByText('guest is no longer a moderator.'));

    // Removed while reading.
    await confirm(page.getByRole('button', { name: 'Remove guest' }), 'Remove');
    await appears(other.getByText('You can no longer read this space.'));
    await expectAccessible(other, 'a space without access');
    await other.goto('about:blank');
    await other.goto(invitation);
    await other.getByRole('button', { name: 'Join space' }).click();
    await appears(other.getByRole('alert').getByText('You have been removed'));
    await page.getByRole('button', { name: 'Undo the removal of guest' }).click();
    await appears(page.getByText('guest can join again.'));
    await other.getByRole('button', { name: 'Join space' }).click();
    await appears(other.getByRole('heading', { name: 'Secret garden' }));

    await confirm(other.getByRole('button', { name: 'Leave space' }), 'Leave');
    await appears(other.getByRole('heading', { name: 'Find your space' }));
    await confirm(page.getByRole('button', { name: 'Delete space …' }), 'Delete');
    await appears(page.getByText('The space and its messages have been deleted.'));
  });

  test('reports spaces, messages and users, withdraws that, and shows the profiles of authors', async () => {
    const reader = await service.register();
    await using page = await open('#/sign-in');
    await signIn(page, reader);
    await openView(page, SPACE);
    const report = async (button: Locator) => {
      await button.click();
      await page.getByLabel('Reason').fill('It advertises.');
      await page.getByRole('dialog').getByRole('button', { name: 'Report', exact: true }).click();
      await disappears(page.getByRole('dialog'));
      await appears(page.getByText('The operator of this server will review your report.'));
    };
    const withdraw = async (button: Locator) => {
      await button.click();
      await page.getByRole('button', { name: 'Withdraw report' }).click();
      await disappears(page.getByRole('dialog'));
      await appears(page.getByText('You have no open report about it.'));
    };
    const message = page
      .getByRole('article')
      .filter({ hasNot: page.getByRole('link', { name: 'ada' }) })
      .last();
    await message.hover();
    const buttons = [
      message.getByRole('button', { name: 'Report message' }),
      page.getByRole('button', { name: 'Report space' }),
    ];
    for (const button of buttons) await report(button);
    // Ada is the creator. She does not see the report about the space.
    await using creator = await openSignedIn(SPACE);
    const reports = creator.getByRole('region', { name: 'Reports' });
    await appears(reports.getByText('It advertises.'));
    expect(await reports.getByText('about this space').count()).toBe(0);
    await expectAccessible(creator, 'reports');
    await message.hover();
    for (const button of buttons) await withdraw(button);
    await page.getByRole('button', { name: 'Join space' }).click();
    const draft = page.getByRole('textbox', { name: 'Message' });
    await draft.fill('Not yet');
    const ofAda = page
      .getByRole('article')
      .filter({ has: page.getByRole('link', { name: 'ada' }) });
    await ofAda.locator('.avatar').last().click();
    await appears(page.getByRole('heading', { level: 1, name: 'ada' }));
    await appears(page.getByText('Takes clocks apart'));
    const reportUser = page.getByRole('button', { name: 'Report user' });
    await report(reportUser);
    await withdraw(reportUser);
    await appears(page.getByRole('region', { name: 'Spaces' }).getByRole('heading', { level: 3 }));
    await expectAccessible(page, 'the profile of another user');
    await page.goBack();
    expect(await draft.inputValue()).toBe('Not yet');
  });

  test('finds and blocks users, and mutes spaces', async () => {
    const reader = await service.register();
    await using page = await open('#/sign-in');
    await signIn(page, reader);
    await openView(page, SPACE);
    await page.getByRole('button', { name: 'Join space' }).click();
    await openView(page, '#/?q=ad');
    const people = page.getByRole('region', { name: 'People' });
    await appears(people.getByRole('link', { name: 'ada' }));
    await expectAccessible(page, 'people in a search');
    await openView(page, SPACE);
    await page.getByRole('button', { name: 'Mute space' }).click();
    await appears(page.getByRole('button', { name: 'Unmute space' }));
    const ofAda = page
      .getByRole('article')
      .filter({ has: page.getByRole('link', { name: 'ada' }) });
    await ofAda.locator('.avatar').last().click();
    await page.getByRole('button', { name: 'Block ada' }).click();
    await appears(page.getByText('Messages of ada are hidden. Only you know.'));
    await page.goBack();
    const reveal = page.getByRole('button', { name: 'Show the message of ada' });
    await appears(reveal);
    await expectAccessible(page, 'hidden messages');
    const hidden = await reveal.count();
    await reveal.first().click();
    await expect.poll(() => reveal.count()).toBe(hidden - 1);
    await openView(page, '#/profile?section=security');
    await appears(page.getByRole('button', { name: 'Unblock ada' }));
    await expectAccessible(page, 'blocked users');
    await page.getByRole('button', { name: 'Unblock ada' }).click();
    await appears(page.getByText('You have not blocked anyone.'));
    await openView(page, SPACE);
    await appears(page.getByRole('article'));
    expect(await reveal.count()).toBe(0);
  });

  describe('brings people back in with mail', () => {
    test('to verify an address, in another browser and twice', async () => {
      await using page = await open('#/');
      await signUp(page, 'verifier');
      await openView(page, '#/profile?section=security');
      await appears(page.getByText('(not verified)'));
      await expectAccessible(page, 'the form for the email address');
      await mailServer.receive('verifier@example.com');
      await page.getByRole('button', { name: 'Send another link' }).click();
      await appears(page.getByText('a mail with a link is on its way'));
      const { link } = await mailServer.receive('verifier@example.com');
      for (let i = 0; i < 2; i += 1) {
        await using other = await open(new URL(link).hash);
        await appears(other.getByText('The address verifier@example.com is verified.'));
        await expectAccessible(other, 'a verified address');
      }
      await page.reload();
      await disappears(page.getByText('(not verified)'));
    });

    test('which says so if the link is no longer valid', async () => {
      await using page = await open('#/verify-email?token=unknown');
      await appears(page.getByRole('alert').getByText('has been used or has expired'));
      await expectAccessible(page, 'an invalid link');
    });

    test('to change an address, signed in as another user', async () => {
      await using page = await open('#/');
      await signUp(page, 'mover');
      await openView(page, '#/profile?section=security');
      await page.getByLabel('New email address').fill('moved@example.com');
      await page.getByLabel('Your password').fill(DEMO_ACCOUNT.password);
      await page.getByRole('button', { name: 'Change address' }).click();
      await appears(page.getByText('Open the link in the mail to moved@example.com'));
      const { link } = await mailServer.receive('moved@example.com');
      await using other = await open('#/');
      await signIn(other);
      await openView(other, new URL(link).hash);
      await appears(other.getByText('The address moved@example.com is verified.'));
      await page.reload();
      await appears(page.getByText('moved@example.com'));
    });

    test('to choose a new password', async () => {
      await using page = await open('#/');
      await signUp(page, 'forgetful');
      await mailServer.receive('forgetful@example.com');
      await using other = await open('#/sign-in');
      await other.getByRole('link', { name: 'Forgot your password?' }).click();
      await appears(other.getByRole('heading', { name: 'Forgot your password?' }));
      await expectAccessible(other, 'a forgotten password');
      await other.getByLabel('Email address').fill('forgetful@example.com');
      await other.getByRole('button', { name: 'Send a link' }).click();
      await appears(other.getByText('a mail with a link is on its way'));
      await expectAccessible(other, 'the request for a new password');
      const { link } = await mailServer.receive('forgetful@example.com');
      await openView(other, new URL(link).hash);
      await other.getByLabel('New password').fill('short');
      await other.getByRole('button', { name: 'Change password' }).click();
      await appears(other.getByText('New password must have at least 8 characters.'));
      await expectAccessible(other, 'the form for a new password');
      await other.getByLabel('New password').fill(NEW_PASSWORD);
      await other.getByRole('button', { name: 'Change password' }).click();
      await appears(other.getByText('Sign in with it.'));
      await fillSignIn(other, NEW_PASSWORD, 'forgetful@example.com');
      await other.getByRole('button', { name: 'Sign in' }).click();
      await appears(other.getByRole('link', { name: 'Account', exact: true }));
      // All other sessions have ended.
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      await dialog.getByLabel('Password').fill(NEW_PASSWORD);
      await dialog.getByRole('button', { name: 'Sign in' }).click();
      await disappears(dialog);
      // The link has been used.
      await openView(page, new URL(link).hash);
      await page.getByLabel('New password').fill('another good password');
      await page.getByRole('button', { name: 'Change password' }).click();
      await appears(page.getByText('has been used or has expired'));
      await appears(page.getByRole('link', { name: 'Send another link' }));
      await expectAccessible(page, 'a used link for a new password');
    });
  });

  // Last, because it is about all tests above.
  test('calls every operation of the contract', () => {
    const missing = operations
      .map(({ operationId }) => operationId)
      .filter((id) => !calledOperations.has(id));
    expect(missing).toEqual([]);
  });
});

/** Builds the page for a service and serves it on another origin. */
async function openSite(serviceUrl: string, port?: number): Promise<HttpServer> {
  const built = await mkdtemp(join(folder, 'page-'));
  await buildWebPage(copy, built, serviceUrl);
  return serveSite(built, documentedPolicy(serviceUrl), port);
}

/** Opens the page in a browser of its own, without the session of another one. */
async function open(address: string): Promise<Page> {
  // Closing a page that was opened in this way closes its context, too.
  const page = await browser.newPage();
  page.on('request', (request) => {
    const operation = findOperation(request.method(), new URL(request.url()).pathname);
    if (operation) calledOperations.add(operation.operationId);
  });
  await page.goto(site.url + address);
  return Object.assign(page, {
    async [Symbol.asyncDispose]() {
      // Otherwise, a handler that is still running would reject when the page closes, and end the test run.
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.close();
    },
  });
}

/** As if another tab had signed in again, but without telling this one. */
async function replaceToken(page: Page, access_token: string): Promise<void> {
  await page.evaluate((token) => {
    const key = 'space-service-session';
    const session = JSON.parse(localStorage.getItem(key) ?? '{}');
    localStorage.setItem(key, JSON.stringify({ ...session, access_token: token }));
  }, access_token);
}

async function openSignedIn(address: string): Promise<Page> {
  const page = await open('#/sign-in');
  await signIn(page);
  await openView(page, address);
  return page;
}

/** Returns the address of the new space. */
async function createSpace(page: Page, title: string, visibility: 'public' | 'private') {
  await page.getByRole('link', { name: 'New space', exact: true }).click();
  await page.getByLabel('Title').fill(title);
  const label = visibility === 'public' ? 'Everybody' : 'Only those with an invitation link';
  await page.getByLabel(label).check();
  await page.getByRole('button', { name: 'Create space' }).click();
  await appears(page.getByRole('heading', { level: 1, name: title }));
  return new URL(page.url()).hash;
}

/** Returns the id in the address of a space. */
function idIn(address: string): string {
  return new URLSearchParams(address.split('?')[1]).get('id') ?? '';
}

/** Changes the avatar, username, bio and password. */
async function changeProfile(page: Page): Promise<void> {
  await openView(page, '#/profile');
  await page.getByLabel('Avatar').setInputFiles(AVATAR_FILE);
  const preview = page.getByAltText('Preview of your new avatar');
  await expect
    .poll(() => preview.evaluate((image: HTMLImageElement) => image.naturalWidth))
    .toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Save avatar' }).click();
  await appears(page.getByText('Your avatar has been changed.'));
  await disappears(preview);

  await page.getByRole('textbox', { name: 'Username' }).fill('newcomer2');
  await page.getByRole('button', { name: 'Save username' }).click();
  await appears(page.getByText(/^Your username is now/));
  // The message of an earlier change.
  await disappears(page.getByText('Your avatar has been changed.'));
  await page.getByLabel('Bio').fill('Two lines\nof text');
  await page.getByRole('button', { name: 'Save bio' }).click();
  await appears(page.getByText('Your bio has been changed.'));

  await page.getByRole('link', { name: 'Security' }).click();
  await page.getByLabel('Current password').fill(DEMO_ACCOUNT.password);
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Change password' }).click();
  await appears(page.getByText(/password has been changed/));
  expect(await page.getByLabel('New password').inputValue()).toBe('');
  await page.getByRole('link', { name: 'Profile', exact: true }).click();
}

async function deleteAccount(page: Page): Promise<void> {
  await openView(page, '#/profile?section=data');
  const request = page.getByRole('button', { name: 'Delete account …' });
  await request.click();
  await page.getByRole('button', { name: 'Keep account' }).click();
  await disappears(page.getByRole('dialog'));
  await confirm(request, 'Delete');
  await appears(page.getByText(/account .* deleted/));
  await appears(page.getByRole('searchbox'));
  await appears(page.getByRole('link', { name: 'Sign in' }));
}
