import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { clientKeys } from '../../server/http/client-key.ts';
import { startApp } from '../support/app.ts';
import { recordLog } from '../support/record-log.ts';

/**
 * Sends requests with forwarding headers.
 * @returns the client addresses and the warnings in the log
 */
async function logOf(settings: Record<string, string>, forwarded: string[]) {
  const { log, lines } = recordLog<{ msg: string; level: number; ip?: string }>();
  await using app = await startApp(settings, { log });
  for (const each of forwarded) {
    await app.fetch('/healthz', { headers: { 'x-forwarded-for': each, 'x-real-ip': each } });
  }
  await expect.poll(() => lines.filter(({ ip }) => ip).length).toBe(forwarded.length);
  return {
    addresses: lines.flatMap(({ ip }) => ip ?? []),
    warnings: lines.filter(({ level }) => level >= 40).map(({ msg }) => msg),
  };
}

test('Ignores X-Forwarded-For without TRUST_PROXY, and logs one warning', async () => {
  const { addresses, warnings } = await logOf({}, ['192.0.2.1', '192.0.2.2']);
  expect(addresses).toEqual(['127.0.0.1', '127.0.0.1']);
  expect(warnings).toEqual([expect.stringMatching(/TRUST_PROXY/)]);
});

test('Uses the last address in X-Forwarded-For from a trusted proxy', async () => {
  const forwarded = ['192.0.2.1', '198.51.100.9, 192.0.2.2', '127.0.0.1, 192.0.2.3'];
  const { addresses, warnings } = await logOf({ TRUST_PROXY: '127.0.0.1' }, forwarded);
  expect(addresses).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3']);
  expect(warnings).toEqual([]);
});

test('Truncates long addresses in the log', async () => {
  const { addresses } = await logOf({ TRUST_PROXY: '127.0.0.1' }, ['x'.repeat(8_000)]);
  expect(addresses).toEqual(['x'.repeat(100)]);
});

test('Counts an IPv6 address of NAT64 or 6to4 as the IPv4 address in it', () => {
  const keysOf = (ip: string) => clientKeys({ ip, socket: {} as Socket });
  const expected = { client: '192.0.2.7', network: '192.0.2.7' };
  expect(keysOf('64:ff9b::192.0.2.7')).toEqual(expected);
  expect(keysOf('2002:c000:207::1')).toEqual(expected);
  expect(keysOf('::ffff:192.0.2.7')).toEqual(expected);
  expect(keysOf('2001:db8:1:2::1')).not.toEqual(expected);
});

test('Ignores ports in forwarded addresses, and uses the address of the proxy for malformed ones', async () => {
  await using app = await startApp({ TRUST_PROXY: '127.0.0.1', RATE_LIMITS: 'on' });
  const remaining = async (forwarded: string) => {
    const response = await app.fetch('/api/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': forwarded },
      body: JSON.stringify({ email: 'nobody@example.com', password: 'marmalade on toast' }),
    });
    expect(response.status).toBe(401);
    return Number(response.headers.get('ratelimit-remaining'));
  };
  expect(await remaining('192.0.2.7')).toBe(29);
  expect(await remaining('192.0.2.7:5678')).toBe(28);
  // The IPv6 addresses are in one /64 block, which counts as one client.
  expect(await remaining('2001:db8::1')).toBe(29);
  expect(await remaining('[2001:db8::2]:80')).toBe(28);
  expect(await remaining('[2001:db8::3]')).toBe(27);
  expect(await remaining('unknown')).toBe(29);
  expect(await remaining('_hidden')).toBe(28);
  expect(await remaining('127.0.0.1')).toBe(27);
});

test('Ignores X-Forwarded-For from an untrusted proxy', async () => {
  const { addresses } = await logOf({ TRUST_PROXY: '10.0.0.0/8' }, ['192.0.2.1']);
  expect(addresses).toEqual(['127.0.0.1']);
});
