import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startMock } from '../../mock/server.ts';
import { importSample } from '../../server/sample/import-sample.ts';
import { DEMO_ACCOUNT } from '../../server/sample/sample.ts';
import { startApp, type TestApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import type { HttpServer } from '../support/http-server.ts';
import { freePort } from '../support/ports.ts';
import { findViolations, hasChromium, launchChromium } from './browser.ts';
import { buildWebPage, documentedPolicy, serveSite } from './site.ts';

const AVATAR_FILE = 'server/sample/avatar.jpg';
const NEW_PASSWORD = 'honey on crumpets';

let folder: string;
let browser: Browser;
let service: TestApp;
/** The page, on another origin than the service. */
let site: HttpServer;

describe.skipIf(!hasChromium)('The example web page in Chromium', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'web-page-'));
    const dataDir = join(folder, 'data');
    const port = await freePort();
    [browser] = await Promise.all([launchChromium(), importSample({ dataDir })]);
    service = await startApp({
      DATA_DIR: dataDir,
      CORS_ORIGINS: `http://127.0.0.1:${port}`,
    });
    site = await openSite(service.url, port);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  describe('searches as you type', () => {
    test('by text and by tag, with counts for screen readers', async () => {
      await using page = await open('#/');
      await page.getByRole('searchbox').pressSequentially('chess');
      await appears(page.locator('#by-text').getByRole('link', { name: 'Chess', exact: true }));
      await appears(page.locator('#by-tag').getByRole('link', { name: 'Chess', exact: true }));
      await expect
        .poll(() => page.locator('#search-status').textContent())
        .toMatch(/^Spaces shown: \d+ by text, \d+ by tag\.$/);
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
      await appears(page.getByRole('link', { name: 'Astronomy', exact: true }).first());
      expect(failures.sort()).toEqual([
        '/api/spaces/search net::ERR_ABORTED',
        '/api/spaces/tag/bread net::ERR_ABORTED',
      ]);
      await expectHidden(page.getByRole('alert'));
    });

    test('and offers the query as typed after a correction', async () => {
      await using page = await open('#/');
      await page.getByRole('searchbox').fill('astronmy');
      const correction = page.getByText(
        'Also showing results for astronomy. Search only for astronmy.',
      );
      await appears(correction);
      await appears(page.getByRole('link', { name: 'Astronomy', exact: true }));
      expect(await page.locator('#search-status').textContent()).toMatch(
        /^Also showing results for astronomy\./,
      );

      await correction.getByRole('link', { name: 'astronmy' }).click();
      await appears(page.getByText('No space has these words'));
      await expectHidden(correction);
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

      await page.locator('#by-text').getByRole('link', { name: 'Show all' }).click();
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
      await appears(page.locator('#by-text').getByRole('link', { name: 'Chess', exact: true }));
      await expectHidden(page.locator('#by-tag'));
      expect(await page.locator('#search-status').textContent()).toMatch(
        /^Spaces shown: \d+ by text\.$/,
      );

      await page.unroute(/api\/spaces\/tag/);
      await page.getByRole('button', { name: 'Try again' }).click();
      await appears(page.locator('#by-tag').getByRole('link', { name: 'Chess', exact: true }));
      await expectHidden(page.getByRole('alert'));
    });
  });

  test('names the other query above all results', async () => {
    await using page = await open('#/spaces?q=astronmy');
    await appears(page.getByRole('heading', { name: 'Spaces about “astronmy” or “astronomy”' }));
    await appears(page.getByRole('link', { name: 'Astronomy', exact: true }));
  });

  test('loads the pages of a list on scroll', async () => {
    await using page = await open('#/spaces?q=the');
    const items = page.locator('#spaces .card');
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await expect.poll(() => items.count()).toBe(20);
    expect(requests.filter((url) => url.includes('cursor='))).toEqual([]);

    await page.keyboard.press('End');
    await expect.poll(() => items.count()).toBe(40);
    expect(requests.filter((url) => url.includes('cursor='))).toHaveLength(1);
    const titles = await page.locator('#spaces .title').allTextContents();
    expect(new Set(titles).size).toBe(40);
  });

  test('lists all results of a query that is longer than the service accepts', async () => {
    await using page = await open('#/');
    await page.getByRole('searchbox').fill('chess '.repeat(40));
    await page.locator('#by-text').getByRole('link', { name: 'Show all' }).click();
    const list = page.locator('#spaces .card');
    await appears(list.getByRole('link', { name: 'Chess', exact: true }).first());
    await expectHidden(page.getByRole('alert'));
  });

  describe('explains errors', () => {
    test('next to the fields that they are about', async () => {
      await using page = await open('#/sign-up');
      const username = page.getByRole('textbox', { name: 'Username' });
      const email = page.getByRole('textbox', { name: 'Email address' });
      const password = page.locator('#sign-up').getByLabel('Password');
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

    test('of a wrong password above the form', async () => {
      await using page = await open('#/sign-in');
      await fillSignIn(page, 'wrong wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await appears(page.getByText('The email address or password is incorrect.'));
    });

    test('of an ended session by asking to sign in', async () => {
      await using page = await openSignedIn();
      await page.evaluate(() => sessionStorage.setItem('access-token', 'sps_ended'));
      await page.getByRole('button', { name: 'Save bio' }).click();
      await appears(page.getByRole('heading', { name: 'Sign in' }));
      await appears(page.getByText('Your session has ended. Sign in again.'));
      expect(await page.evaluate(() => sessionStorage.getItem('access-token'))).toBeNull();
    });

    test('except a 401 for an earlier session, which does not end the current one', async () => {
      await using page = await openSignedIn();
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
      await page.evaluate(() => sessionStorage.setItem('access-token', 'sps_next'));
      startNextSession();
      await expect.poll(() => form.getAttribute('aria-busy')).toBe('false');
      expect(await page.evaluate(() => sessionStorage.getItem('access-token'))).toBe('sps_next');
    });

    test('of a profile without a session by asking to sign in, and Back returns to the view before', async () => {
      await using page = await open('#/');
      await page.goto(`${site.url}#/profile`);
      await appears(page.getByRole('heading', { name: 'Sign in' }));
      expect(await page.locator('#notice').textContent()).toBe('');
      await page.goBack();
      expect(new URL(page.url()).hash).toBe('#/');
    });
  });

  test('shows no late response to a request of an earlier account', async () => {
    const [earlier, next] = [await service.register('earlier'), await service.register('next')];
    await using page = await open('#/');
    const signIn = async ({ email, password }: TestUser) => {
      await page.goto(`${site.url}#/sign-in`);
      await fillSignIn(page, password, email);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await appears(page.getByText(email));
    };
    const { promise: isNextSession, resolve: startNextSession } = Promise.withResolvers<void>();
    await page.route(/api\/profile\/username/, async (route) => {
      const response = await route.fetch();
      await isNextSession;
      await route.fulfill({ response });
    });
    const form = page.locator('#username-form');
    await signIn(earlier);
    await page.getByRole('textbox', { name: 'Name' }).fill('earlier2');
    await page.getByRole('button', { name: 'Save username' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(next);
    expect(await form.getAttribute('aria-busy')).toBe('true');
    startNextSession();
    await expect.poll(() => form.getAttribute('aria-busy')).toBe('false');
    expect(await page.locator('#profile-username').textContent()).toBe(next.username);
    expect(await form.locator('.form-message').textContent()).toBe('');
    expect(await form.locator('.form-error').textContent()).toBe('');
  });

  test('shows below a list only how many items are loaded', async () => {
    await using page = await open('#/space?id=0195d3c4-11aa-7e0f-8a5b-6c7d8e9f0a1b');
    await expect
      .poll(() => page.locator('#space .list-status').textContent())
      .toMatch(/^\d+ messages( loaded)?\.$/);
  });

  test('shows nothing of the previous space if a space does not exist', async () => {
    await using page = await open('#/space?id=0195d3c4-11aa-7e0f-8a5b-6c7d8e9f0a1b');
    await appears(page.locator('#space .card').first());
    await page.goto(`${site.url}#/space?id=unknown`);
    await appears(page.getByText('There is no such space, or it is private.'));
    expect(await page.locator('#space h1').textContent()).toBe('Space');
    expect(await page.locator('#space .list-status').textContent()).toBe('');
    await expectHidden(page.locator('#space .space-header'));
    // It would fail again.
    await expectHidden(page.getByRole('button', { name: 'Try again' }));
  });

  test('shows a profile with fields that a later version of the service has added', async () => {
    await using page = await open('#/sign-in');
    await page.route(/api\/profile\/me/, async (route) => {
      const response = await route.fetch();
      const profile = await response.json();
      const stats = { ...profile.stats, later_statistic: 1 };
      await route.fulfill({ response, json: { ...profile, stats, later_field: 'text' } });
    });
    await fillSignIn(page, DEMO_ACCOUNT.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await appears(page.getByText('Words written'));
    expect(await page.locator('[data-statistic="spaces_created"]').textContent()).toMatch(/^\d+$/);
  });

  test('previews only files that are images', async () => {
    await using page = await openSignedIn();
    const preview = page.getByAltText('Preview of your new avatar');
    await page.getByLabel('Image file').setInputFiles(AVATAR_FILE);
    await appears(preview);
    await page.getByLabel('Image file').setInputFiles('package.json');
    await expectHidden(preview);
    await page.getByRole('button', { name: 'Save avatar' }).click();
    await appears(page.getByText('The avatar must be a JPEG, PNG, WebP or GIF file.'));
  });

  test('shows the dialog in the middle of the window', async () => {
    await using page = await openSignedIn();
    await page.getByRole('button', { name: 'Delete account …' }).click();
    const margins = await page.getByRole('dialog').evaluate((dialog) => {
      const { top, bottom, left, right } = dialog.getBoundingClientRect();
      const { clientWidth, clientHeight } = document.documentElement;
      return [top, clientHeight - bottom, left, clientWidth - right].map(Math.round);
    });
    expect(margins[0]).toBe(margins[1]);
    expect(margins[2]).toBe(margins[3]);
  });

  test('can be used with the keyboard only', async () => {
    await using page = await open('#/');
    await page.keyboard.press('Tab');
    expect(await focusedText(page)).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('chess');
    await appears(page.locator('#by-text .card').first());
    await tabTo(page, 'Chess');
    await page.keyboard.press('Enter');
    await appears(page.getByRole('heading', { name: 'Messages' }));
    expect(await focusedText(page)).toBe('Chess');

    await page.keyboard.press('Shift+Tab');
    expect(await focusedText(page)).toBe('Sign up');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    // The link that led here has the same text, so the role tells them apart.
    await expect.poll(() => isFocused(page.getByRole('heading', { name: 'Sign in' }))).toBe(true);
    await page.keyboard.press('Tab');
    await page.keyboard.type(DEMO_ACCOUNT.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(DEMO_ACCOUNT.password);
    await page.keyboard.press('Enter');
    await appears(page.getByRole('heading', { name: 'Delete account' }));
    await expect.poll(() => focusedText(page)).toBe('Your profile');

    await tabTo(page, 'Delete account …');
    await page.keyboard.press('Enter');
    await appears(page.getByRole('dialog', { name: 'Delete your account?' }));
    expect(await focusedText(page)).toBe('Keep account');
    await page.keyboard.press('Escape');
    await expectHidden(page.getByRole('dialog'));
    expect(await focusedText(page)).toBe('Delete account …');
    // Nothing has been deleted.
    await page.reload();
    await appears(page.getByText(DEMO_ACCOUNT.email));
  });

  const views: [name: string, address: string, content: (page: Page) => Locator][] = [
    ['the empty search', '#/', (page) => page.getByText('Spaces are rooms')],
    ['search results', '#/?q=chess', (page) => page.locator('#by-tag .card').first()],
    ['a correction', '#/?q=astronmy', (page) => page.locator('#correction')],
    ['a search without results', '#/?q=zzzz', (page) => page.getByText('No space has this tag.')],
    [
      'all spaces with a tag',
      '#/spaces?tag=music',
      (page) => page.locator('#spaces .card').first(),
    ],
    [
      'a space',
      '#/space?id=0195d3c4-11aa-7e0f-8a5b-6c7d8e9f0a1b',
      (page) => page.locator('#space .card').first(),
    ],
    ['an error', '#/space?id=unknown', (page) => page.getByRole('alert')],
    ['the sign-in', '#/sign-in', (page) => page.getByRole('heading', { name: 'Sign in' })],
    ['the sign-up', '#/sign-up', (page) => page.getByRole('heading', { name: 'Create' })],
  ];
  test('shows every view accessibly, on phones and in both themes', async () => {
    await using page = await open('#/');
    for (const [name, address, content] of views) {
      await page.goto(site.url + address);
      await appears(content(page));
      await expectAccessible(page, name);
    }
  });

  test('shows the profile, its errors and its dialog accessibly, on phones and in both themes', async () => {
    await using page = await openSignedIn();
    await page.getByRole('textbox', { name: 'Name' }).fill('a');
    await page.getByRole('button', { name: 'Save username' }).click();
    await appears(page.getByText('Name must have at least 2 characters.'));
    await expectAccessible(page, 'the profile');
    await page.getByRole('button', { name: 'Delete account …' }).click();
    await appears(page.getByRole('dialog'));
    await expectAccessible(page, 'the dialog');
  });

  test('keeps each form of the profile in its column when an error appears', async () => {
    await using page = await openSignedIn();
    await appears(page.getByText('Words written'));
    const columns = () =>
      page
        .locator('#profile-content form')
        .evaluateAll((forms) => forms.map((form) => form.getBoundingClientRect().x));
    const before = await columns();
    expect(new Set(before).size).toBe(2);
    await page.getByLabel('Current password').fill(DEMO_ACCOUNT.password);
    await page.getByLabel('New password').fill('password1');
    await page.getByRole('button', { name: 'Change password' }).click();
    await appears(page.getByText('most common passwords'));
    expect(await columns()).toEqual(before);
  });

  describe('leads through the life of an account', () => {
    test('on a server at another origin', async () => {
      await using page = await open('#/sign-up');
      await signUp(page, 'newcomer');
      await appears(page.getByText('Welcome, newcomer.'));
      const before = await page.getByAltText('Your avatar').getAttribute('src');
      await changeProfile(page);
      await expect
        .poll(() => page.getByAltText('Your avatar').getAttribute('src'))
        .not.toBe(before);
      await appears(page.locator('#profile-username', { hasText: 'newcomer2' }));

      await page.reload();
      await appears(page.locator('#profile-username', { hasText: 'newcomer2' }));
      expect(await page.getByLabel('About you').inputValue()).toBe('Two lines\nof text');
      await page.goto(`${site.url}#/`);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await appears(page.getByText('You are signed out.'));
      // The button with the focus has disappeared.
      expect(await focusedText(page)).toBe('Find your space');

      await page.goto(`${site.url}#/sign-in`);
      await fillSignIn(page, NEW_PASSWORD, 'newcomer@example.com');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await deleteAccount(page);

      await page.goto(`${site.url}#/sign-in`);
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
      await appears(page.locator('#by-text .card').first());
      await page.goto(`${mockSite.url}#/sign-up`);
      await signUp(page, 'newcomer');
      await changeProfile(page);
      await deleteAccount(page);

      // The mock responds with any documented error.
      const explanations = {
        429: /^Too many requests\. Try again in \d+ (second|minute)s?\.$/,
        503: /^The service is busy\. Try again in \d+ seconds?\.$/,
      };
      for (const [status, explanation] of Object.entries(explanations)) {
        await page.setExtraHTTPHeaders({ prefer: `code=${status}` });
        await page.goto(`${mockSite.url}#/sign-in`);
        await page.reload();
        await fillSignIn(page, NEW_PASSWORD);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await appears(page.locator('#sign-in').getByText(explanation));
      }
    });
  });
});

/** Builds the page for a service and serves it on another origin. */
async function openSite(serviceUrl: string, port?: number): Promise<HttpServer> {
  const built = await mkdtemp(join(folder, 'page-'));
  await buildWebPage(built, serviceUrl);
  return serveSite(built, documentedPolicy(serviceUrl), port);
}

async function open(address: string): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(site.url + address);
  return page;
}

async function openSignedIn(): Promise<Page> {
  const page = await open('#/sign-in');
  await fillSignIn(page, DEMO_ACCOUNT.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await appears(page.getByText(DEMO_ACCOUNT.email));
  return page;
}

async function fillSignIn(page: Page, password: string, email = DEMO_ACCOUNT.email): Promise<void> {
  await page.locator('#sign-in').getByLabel('Email address').fill(email);
  await page.locator('#sign-in').getByLabel('Password').fill(password);
}

async function signUp(page: Page, username: string): Promise<void> {
  const form = page.locator('#sign-up');
  await form.getByLabel('Username').fill(username);
  await form.getByLabel('Email address').fill(`${username}@example.com`);
  await form.getByLabel('Password').fill(DEMO_ACCOUNT.password);
  await form.getByRole('button', { name: 'Create account' }).click();
  await appears(page.getByRole('heading', { name: 'Your profile' }));
  await appears(page.getByText('Words written'));
}

/** Changes the avatar, username, bio and password. */
async function changeProfile(page: Page): Promise<void> {
  await page.getByLabel('Image file').setInputFiles(AVATAR_FILE);
  const preview = page.getByAltText('Preview of your new avatar');
  await expect
    .poll(() => preview.evaluate((image: HTMLImageElement) => image.naturalWidth))
    .toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Save avatar' }).click();
  await appears(page.getByText('Your avatar has been changed.'));
  await expectHidden(preview);

  await page.getByRole('textbox', { name: 'Name' }).fill('newcomer2');
  await page.getByRole('button', { name: 'Save username' }).click();
  await appears(page.getByText(/^Your username is now/));
  // The message of an earlier change.
  await expectHidden(page.getByText('Your avatar has been changed.'));
  await page.getByLabel('About you').fill('Two lines\nof text');
  await page.getByRole('button', { name: 'Save bio' }).click();
  await appears(page.getByText('Your bio has been changed.'));

  await page.getByLabel('Current password').fill(DEMO_ACCOUNT.password);
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Change password' }).click();
  await appears(page.locator('#password-form .form-message:not(:empty)'));
  expect(await page.getByLabel('New password').inputValue()).toBe('');
}

async function deleteAccount(page: Page): Promise<void> {
  const request = page.getByRole('button', { name: 'Delete account …' });
  await request.click();
  await page.getByRole('button', { name: 'Keep account' }).click();
  await expectHidden(page.getByRole('dialog'));
  await request.click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await appears(page.getByText(/account .* deleted/));
  await appears(page.getByRole('searchbox'));
  await appears(page.getByRole('link', { name: 'Sign in' }));
}

/** Checks the light theme on a large screen, and the colors of the dark one on a narrow phone. */
async function expectAccessible(page: Page, view: string): Promise<void> {
  expect(await findViolations(page), view).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 320, height: 640 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth), view).toBe(320);
  expect(await findViolations(page, ['color-contrast']), view).toEqual([]);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 720 });
}

function appears(locator: Locator): Promise<void> {
  return locator.waitFor();
}

function expectHidden(locator: Locator): Promise<void> {
  return locator.waitFor({ state: 'hidden' });
}

function isFocused(locator: Locator): Promise<boolean> {
  return locator.evaluate((element) => element === document.activeElement);
}

function focusedText(page: Page): Promise<string | undefined> {
  return page.evaluate(() => document.activeElement?.textContent?.trim());
}

/** Presses Tab until an element with this text has the focus. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let presses = 0; presses < 50; presses += 1) {
    await page.keyboard.press('Tab');
    if ((await focusedText(page)) === text) return;
  }
  expect.fail(`Tab does not reach ${text}.`);
}

/** Returns the hints and errors that screen readers read with a field. */
function describedBy(field: Locator): Promise<string> {
  return field.evaluate((element) =>
    (element.getAttribute('aria-describedby') ?? '')
      .split(' ')
      .map((id) => document.getElementById(id)?.textContent)
      .join(' '),
  );
}
