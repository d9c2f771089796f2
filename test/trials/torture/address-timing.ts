import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { clientOf, registerWith } from '../../support/client.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { retryWhileUnavailable } from '../../support/retry.ts';
import { startServer } from '../../support/server.ts';
import { median } from '../../support/statistics.ts';
import type { Scale, Trial } from './trial.ts';

/** Significance level: the probability of a false alarm. */
const ALPHA = 0.001;

/** Maximum relative difference of the medians. Few measurements on a busy machine only detect a missing hash. */
const MAX_DIFFERENCE = { full: 0.05, quick: 1 };

/** A request with an email address, for which known and unknown addresses must be indistinguishable. */
interface Probe {
  name: string;
  settings: Record<string, string>;
  path: string;
  /** Properties of the body besides the address. */
  body: Record<string, string>;
  status: number;
  pairs: Readonly<Record<Scale, number>>;
  /** Below the limit of requests per email address. */
  maxPerAddress: number;
  /** Headers of a request. */
  headers(): Record<string, string>;
}

/**
 * Registration does reveal whether an address has an account, because it must explain its 409. It is limited to 60
 * requests per minute and client.
 */
export const loginTiming: Trial = {
  promise: 'A failed login does not reveal whether the email address has an account.',
  runsOnPostgresql: true,
  measuresTime: true,
  run: (scale) =>
    compareAddresses(scale, {
      name: 'logins',
      settings: {},
      path: '/api/auth/login',
      body: { password: 'not the password' },
      status: 401,
      pairs: { full: 1000, quick: 30 },
      maxPerAddress: 25,
      headers: () => ({}),
    }),
};

export const resetTiming: Trial = {
  promise:
    'A request for a password reset does not reveal whether the email address has an account.',
  runsOnPostgresql: true,
  measuresTime: true,
  async run(scale) {
    await using mailServer = await startMailServer();
    return compareAddresses(scale, {
      name: 'requests for a password reset',
      settings: { ...mailServer.settings, TRUST_PROXY: '127.0.0.1/32' },
      path: '/api/auth/password-resets',
      body: {},
      status: 202,
      // More, because the request takes little time.
      pairs: { full: 1000, quick: 200 },
      maxPerAddress: 4,
      // Each from a network of its own, because all clients are limited.
      headers: () => ({ 'x-forwarded-for': `10.${[...randomBytes(3)].join('.')}` }),
    });
  },
};

/**
 * Each pair consists of a request with a known address and one with an unknown address, in random order, so that
 * other load on the machine slows both. The differences within pairs are compared with Wilcoxon's signed-rank test,
 * two-sided, in its normal approximation.
 */
async function compareAddresses(scale: Scale, probe: Probe): Promise<string> {
  const pairs = probe.pairs[scale];
  await using server = await startServer({ RATE_LIMITS: 'on', ...probe.settings });
  const known: string[] = [];
  const unknown: string[] = [];
  while (known.length * probe.maxPerAddress < pairs) {
    // Random and equally long, so that the addresses themselves are indistinguishable.
    const client = clientOf(server.url);
    client.setConfig({ headers: probe.headers() });
    known.push((await registerWith(() => client, randomBytes(8).toString('hex'))).email);
    unknown.push(`${randomBytes(8).toString('hex')}@example.com`);
  }
  const send = (address: string | undefined) => measure(server.url, probe, `${address}`);
  // The first requests warm up the process and are not measured.
  for (let i = 0; i < 3; i += 1) {
    for (const each of [known, unknown]) await send(each[i % each.length]);
  }

  const times: { known: number; unknown: number }[] = [];
  for (let i = 0; i < pairs; i += 1) {
    const addresses = [known[i % known.length], unknown[i % known.length]];
    const isKnownFirst = Math.random() < 0.5;
    if (!isKnownFirst) addresses.reverse();
    const first = await send(addresses[0]);
    const second = await send(addresses[1]);
    assert.deepEqual(first.visible, second.visible, `pair ${i}`);
    assert.equal(first.visible.status, probe.status);
    times.push({
      known: isKnownFirst ? first.milliseconds : second.milliseconds,
      unknown: isKnownFirst ? second.milliseconds : first.milliseconds,
    });
  }

  const knownMedian = median(times.map((pair) => pair.known));
  const unknownMedian = median(times.map((pair) => pair.unknown));
  const difference = Math.abs(knownMedian - unknownMedian) / Math.min(knownMedian, unknownMedian);
  const probability = signedRankTest(times.map((pair) => pair.known - pair.unknown));
  const summary = `${2 * pairs} ${probe.name}: median ${knownMedian.toFixed(2)} ms with a known address, ${unknownMedian.toFixed(2)} ms with an unknown one, a difference of ${(100 * difference).toFixed(2)} %; Wilcoxon’s signed-rank test p = ${probability.toFixed(3)}; equal status, headers and body`;
  assert(difference <= MAX_DIFFERENCE[scale], summary);
  assert(probability >= ALPHA, summary);
  return summary;
}

/** Sends a request. Returns the duration and everything else that an attacker sees. */
async function measure(url: string, { path, body, headers }: Probe, email: string) {
  let start = 0;
  const response = await retryWhileUnavailable(() => {
    start = performance.now();
    return fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers() },
      body: JSON.stringify({ email, ...body }),
    });
  });
  const text = await response.text();
  const milliseconds = performance.now() - start;
  const requestId = response.headers.get('x-request-id') ?? '';
  assert.match(requestId, /^[0-9a-f-]{36}$/);
  // These headers depend on the request and on the time of day.
  const rest = [...response.headers].filter(
    ([name]) => !/^(date|ratelimit-reset|x-request-id)$/.test(name),
  );
  const { status } = response;
  return { milliseconds, visible: { status, headers: rest, body: text.replace(requestId, '') } };
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
