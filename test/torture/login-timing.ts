import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { median } from '../bench/statistics.ts';
import { startServer } from '../support/server.ts';
import { signUp } from './people.ts';
import type { Trial } from './trial.ts';

/** Failed logins that the limit lets one address have, and a few less. */
const TRIES = 25;

/** How seldom the test may cry wolf. */
const ALPHA = 0.001;

/** How far the medians may be apart. Few measurements on a busy machine tell only whether a hash is left out. */
const APART = { full: 0.05, quick: 1 };

/**
 * Logins with a wrong password come in pairs, one with an address that has an account and one with an address that has
 * none, in an order drawn by lot, so that whatever slows the machine slows both. Wilcoxon's signed-rank test judges the
 * differences within the pairs, two-sided and by its normal approximation.
 *
 * Registering does tell that an address has an account: by 409. Without it nobody would learn what is wrong. It is
 * limited to 60 a minute and client.
 */
export const loginTiming: Trial = {
  promise: 'A failed login does not tell whether the address has an account.',
  async run(scale) {
    const pairs = scale === 'full' ? 1000 : 30;
    await using server = await startServer({ RATE_LIMITS: 'on' });
    const known: string[] = [];
    const unknown: string[] = [];
    while (known.length * TRIES < pairs) {
      // Equally long, and without a pattern by which they could be told apart.
      known.push((await signUp(server.url, randomBytes(8).toString('hex'))).email);
      unknown.push(`${randomBytes(8).toString('hex')}@example.org`);
    }
    const logIn = (address: string | undefined) => tryLogin(server.url, `${address}`);
    // Unmeasured: the first requests of all warm the process up.
    for (let i = 0; i < 3; i += 1) for (const each of [known, unknown]) await logIn(each[0]);

    const times: [known: number, unknown: number][] = [];
    for (let i = 0; i < pairs; i += 1) {
      const addresses = [known[i % known.length], unknown[i % known.length]];
      const isKnownFirst = Math.random() < 0.5;
      if (!isKnownFirst) addresses.reverse();
      const answers = [await logIn(addresses[0]), await logIn(addresses[1])] as const;
      assert.deepEqual(answers[0].seen, answers[1].seen, `pair ${i}`);
      assert.equal(answers[0].seen.status, 401);
      const [first, second] = [answers[0].milliseconds, answers[1].milliseconds];
      times.push(isKnownFirst ? [first, second] : [second, first]);
    }

    const medians = [median(times.map(([a]) => a)), median(times.map(([, b]) => b))] as const;
    const apart = Math.abs(medians[0] - medians[1]) / Math.min(...medians);
    const p = signedRankTest(times.map(([a, b]) => a - b));
    const told = `${2 * pairs} logins: median ${medians[0].toFixed(2)} ms with a known address, ${medians[1].toFixed(2)} ms with an unknown one, ${(100 * apart).toFixed(2)} % apart; Wilcoxon’s signed-rank test p = ${p.toFixed(3)}; status, headers and body alike`;
    assert(apart <= APART[scale], told);
    assert(p >= ALPHA, told);
    return told;
  },
};

/** Tries a wrong password. Answers with how long that took, and all else that an attacker sees. */
async function tryLogin(url: string, email: string) {
  const begun = performance.now();
  const response = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: 'not the password' }),
  });
  const text = await response.text();
  const milliseconds = performance.now() - begun;
  const { request_id, ...body } = JSON.parse(text);
  assert.match(request_id, /^[0-9a-f-]{36}$/);
  // These tell the time of day.
  const headers = [...response.headers].filter(([name]) => !/^(date|ratelimit-reset)$/.test(name));
  return { milliseconds, seen: { status: response.status, headers, body, length: text.length } };
}

/** How likely differences like these would be if they fell to either side alike. */
function signedRankTest(differences: readonly number[]): number {
  const ranked = differences
    .filter((difference) => difference !== 0)
    .sort((a, b) => Math.abs(a) - Math.abs(b));
  const n = ranked.length;
  const sum = ranked.reduce((total, each, i) => total + (each > 0 ? i + 1 : 0), 0);
  const deviation = Math.sqrt((n * (n + 1) * (2 * n + 1)) / 24);
  return twoSided((sum - (n * (n + 1)) / 4) / deviation);
}

/** The part of the normal distribution that is further from its middle (Abramowitz and Stegun, 26.2.17). */
function twoSided(deviations: number): number {
  const x = Math.abs(deviations);
  const t = 1 / (1 + 0.2316419 * x);
  const factors = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const series = factors.reduceRight((rest, factor) => t * (factor + rest), 0);
  return (2 * series * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}
