import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { register } from '../../support/client.ts';
import { retryWhileUnavailable } from '../../support/retry.ts';
import { startServer } from '../../support/server.ts';
import { median } from '../../support/statistics.ts';
import type { Trial } from './trial.ts';

/** Logins per email address, a few below the limit of failed logins. */
const LOGINS_PER_ADDRESS = 25;

/** Significance level: the probability of a false alarm. */
const ALPHA = 0.001;

/** Maximum relative difference of the medians. Few measurements on a busy machine only detect a missing hash. */
const MAX_DIFFERENCE = { full: 0.05, quick: 1 };

/**
 * Each pair consists of a failed login with a known address and one with an unknown address, in random order, so that
 * other load on the machine slows both. The differences within pairs are compared with Wilcoxon's signed-rank test,
 * two-sided, in its normal approximation.
 *
 * Registration does reveal whether an address has an account, because it must explain its 409. It is limited to 60
 * requests per minute and client.
 */
export const loginTiming: Trial = {
  promise: 'A failed login does not reveal whether the email address has an account.',
  runsOnPostgresql: true,
  measuresTime: true,
  async run(scale) {
    const pairs = scale === 'full' ? 1000 : 30;
    await using server = await startServer({ RATE_LIMITS: 'on' });
    const known: string[] = [];
    const unknown: string[] = [];
    while (known.length * LOGINS_PER_ADDRESS < pairs) {
      // Random and equally long, so that the addresses themselves are indistinguishable.
      known.push((await register(server.url, randomBytes(8).toString('hex'))).email);
      unknown.push(`${randomBytes(8).toString('hex')}@example.com`);
    }
    const logIn = (address: string | undefined) => tryLogin(server.url, `${address}`);
    // The first requests warm up the process and are not measured.
    for (let i = 0; i < 3; i += 1) for (const each of [known, unknown]) await logIn(each[0]);

    const times: { known: number; unknown: number }[] = [];
    for (let i = 0; i < pairs; i += 1) {
      const addresses = [known[i % known.length], unknown[i % known.length]];
      const isKnownFirst = Math.random() < 0.5;
      if (!isKnownFirst) addresses.reverse();
      const first = await logIn(addresses[0]);
      const second = await logIn(addresses[1]);
      assert.deepEqual(first.visible, second.visible, `pair ${i}`);
      assert.equal(first.visible.status, 401);
      times.push({
        known: isKnownFirst ? first.milliseconds : second.milliseconds,
        unknown: isKnownFirst ? second.milliseconds : first.milliseconds,
      });
    }

    const knownMedian = median(times.map((pair) => pair.known));
    const unknownMedian = median(times.map((pair) => pair.unknown));
    const difference = Math.abs(knownMedian - unknownMedian) / Math.min(knownMedian, unknownMedian);
    const probability = signedRankTest(times.map((pair) => pair.known - pair.unknown));
    const summary = `${2 * pairs} logins: median ${knownMedian.toFixed(2)} ms with a known address, ${unknownMedian.toFixed(2)} ms with an unknown one, a difference of ${(100 * difference).toFixed(2)} %; Wilcoxon’s signed-rank test p = ${probability.toFixed(3)}; equal status, headers and body`;
    assert(difference <= MAX_DIFFERENCE[scale], summary);
    assert(probability >= ALPHA, summary);
    return summary;
  },
};

/** Sends a wrong password. Returns the duration and everything else that an attacker sees. */
async function tryLogin(url: string, email: string) {
  let start = 0;
  const response = await retryWhileUnavailable(() => {
    start = performance.now();
    return fetch(`${url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: 'not the password' }),
    });
  });
  const text = await response.text();
  const milliseconds = performance.now() - start;
  const { request_id, ...body } = JSON.parse(text);
  assert.match(request_id, /^[0-9a-f-]{36}$/);
  // These headers depend on the request and on the time of day.
  const headers = [...response.headers].filter(
    ([name]) => !/^(date|ratelimit-reset|x-request-id)$/.test(name),
  );
  return { milliseconds, visible: { status: response.status, headers, body, length: text.length } };
}

/** Returns the p-value of Wilcoxon's signed-rank test: the probability of such differences without an effect. */
function signedRankTest(differences: readonly number[]): number {
  const ranked = differences
    .filter((difference) => difference !== 0)
    .sort((a, b) => Math.abs(a) - Math.abs(b));
  const count = ranked.length;
  const sum = ranked.reduce((total, each, i) => total + (each > 0 ? i + 1 : 0), 0);
  const deviation = Math.sqrt((count * (count + 1) * (2 * count + 1)) / 24);
  return twoSided((sum - (count * (count + 1)) / 4) / deviation);
}

/** Returns the two-sided tail probability of the normal distribution (Abramowitz and Stegun, 26.2.17). */
function twoSided(deviations: number): number {
  const x = Math.abs(deviations);
  const t = 1 / (1 + 0.2316419 * x);
  const factors = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const series = factors.reduceRight((rest, factor) => t * (factor + rest), 0);
  return (2 * series * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}
