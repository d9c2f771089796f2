import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';

/**
 * Debian's packages of the browser. The first one takes a fifth of the processor time to open a page, because it has no
 * window with tabs and menus.
 */
const executablePath = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync);

/** Without Chromium, the tests in it are skipped. To install it: apt-get install chromium-headless-shell */
export const hasChromium = executablePath !== undefined;

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--disable-gpu',
      '--disable-quic',
      // Chromium does not run as root with its sandbox.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
  });
}

/**
 * Returns the violations of WCAG and best practices that axe finds in the visible part of the page.
 * @param rules their ids; by default all
 */
export async function findViolations(page: Page, rules?: string[]): Promise<string[]> {
  // Not as a script of the page, which its Content-Security-Policy would block.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  return page.evaluate(async (runOnly) => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') };
    // Disabled by default, like all rules of WCAG 2.2.
    const rules = { 'target-size': { enabled: true } };
    const { violations } = await axe.run(runOnly ? { runOnly } : { rules });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
    );
  }, rules);
}
