import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { DEMO_ACCOUNT } from '../../server/sample/sample.ts';
import { findViolations } from './browser.ts';

/** What people do on the example web page, and what they see. */

export async function signIn(
  page: Page,
  { email, password }: { email: string; password: string } = DEMO_ACCOUNT,
): Promise<void> {
  await page.goto(addressIn(page, '#/sign-in'));
  await fillSignIn(page, password, email);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await appears(page.getByRole('link', { name: 'Account', exact: true }));
}

export async function fillSignIn(page: Page, password: string, email = DEMO_ACCOUNT.email) {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password').fill(password);
}

export async function signUp(page: Page, username: string): Promise<void> {
  await page.goto(addressIn(page, '#/sign-up'));
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Email address').fill(`${username}@example.com`);
  await page.getByLabel('Password').fill(DEMO_ACCOUNT.password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await appears(page.getByRole('link', { name: 'Account', exact: true }));
}

/** Returns the URL of a view on the site that the page shows. */
export function addressIn(page: Page, address: string): string {
  return page.url().replace(/#.*/, '') + address;
}

export async function openView(page: Page, address: string): Promise<void> {
  await page.goto(addressIn(page, address));
}

export async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
}

/** Returns a message in a conversation. */
export function messageOf(page: Page, text: string): Locator {
  return page.getByRole('article').filter({ hasText: text });
}

/** Presses a button, and then the button that confirms in the dialog. */
export async function confirm(button: Locator, confirmation: string): Promise<void> {
  await button.click();
  const dialog = button.page().getByRole('dialog');
  await dialog.getByRole('button', { name: confirmation, exact: true }).click();
  await disappears(dialog);
}

export function appears(locator: Locator): Promise<void> {
  return locator.first().waitFor();
}

export function disappears(locator: Locator): Promise<void> {
  return locator.waitFor({ state: 'hidden' });
}

export function isFocused(locator: Locator): Promise<boolean> {
  return locator.evaluate((element) => element === document.activeElement);
}

export function focusedText(page: Page): Promise<string | undefined> {
  return page.evaluate(() => document.activeElement?.textContent?.trim());
}

/** Presses Tab until an element with this text has the focus. */
export async function tabTo(page: Page, text: string): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press('Tab');
    if ((await focusedText(page)) === text) return;
  }
  expect.fail(`Tab does not reach ${text}.`);
}

/** Returns the hints and errors that screen readers read with a field. */
export function describedBy(field: Locator): Promise<string> {
  return field.evaluate((element) =>
    (element.getAttribute('aria-describedby') ?? '')
      .split(' ')
      .map((id) => document.getElementById(id)?.textContent)
      .join(' '),
  );
}

/** Rules about colors, which are what the dark theme changes. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** Returns the elements whose content is wider than they are, so that a part of it is out of view. */
function findClipped(): string[] {
  const isClipped = (element: Element) => {
    const { overflowX, textOverflow } = getComputedStyle(element);
    return (
      element.scrollWidth > element.clientWidth &&
      overflowX !== 'visible' &&
      textOverflow !== 'ellipsis' &&
      !element.matches('.visually-hidden, input, textarea, html')
    );
  };
  return [...document.querySelectorAll('*')]
    .filter(isClipped)
    .map(
      ({ tagName, className, scrollWidth, clientWidth }) =>
        `${tagName} ${className}: ${scrollWidth} > ${clientWidth}`,
    );
}

/** Checks both themes on phones and large screens, and the widths of other devices. */
export async function expectAccessible(page: Page, view: string): Promise<void> {
  // While something fades in, its contrast is too low.
  await page.evaluate(async () => {
    const ends = ({ effect }: Animation) => effect?.getComputedTiming().endTime !== Infinity;
    await Promise.all(
      document
        .getAnimations()
        .filter(ends)
        .map(({ finished }) => finished),
    );
  });
  for (const width of [1600, 840, 600, 320, 390, 1280]) {
    await page.setViewportSize({ width, height: width < 1280 ? 640 : 720 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth), view).toBe(width);
    expect(await page.evaluate(findClipped), `${view} at ${width} pixels`).toEqual([]);
    if (![320, 390, 1280].includes(width)) continue;
    expect(await findViolations(page), `${view} at ${width} pixels`).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await findViolations(page, COLOR_RULES), `${view}, dark`).toEqual([]);
    await page.emulateMedia({ colorScheme: 'light' });
  }
}
