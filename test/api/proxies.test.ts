import { pino } from 'pino';
import { expect, test } from 'vitest';
import { startApp } from '../support/app.ts';

/** Whom the log holds a request to come from, and what it warned of, with the headers that a client sent. */
async function judge(settings: Record<string, string>, forwarded: string[]) {
  const log: { msg: string; level: number; ip?: string }[] = [];
  const write = (line: string) => void log.push(JSON.parse(line));
  await using app = await startApp(settings, { log: pino({ level: 'info' }, { write }) });
  for (const each of forwarded) {
    await app.fetch('/healthz', { headers: { 'x-forwarded-for': each, 'x-real-ip': each } });
  }
  await expect.poll(() => log.filter(({ ip }) => ip).length).toBe(forwarded.length);
  return {
    addresses: log.flatMap(({ ip }) => ip ?? []),
    warnings: log.filter(({ level }) => level >= 40).map(({ msg }) => msg),
  };
}

test('A client that names another address is not believed, and the operator is told once', async () => {
  const { addresses, warnings } = await judge({}, ['192.0.2.1', '192.0.2.2']);
  expect(addresses).toEqual(['127.0.0.1', '127.0.0.1']);
  expect(warnings).toEqual([expect.stringMatching(/TRUST_PROXY/)]);
});

test('A proxy is believed about who came to it, and nobody before', async () => {
  const forwarded = ['192.0.2.1', '198.51.100.9, 192.0.2.2', '127.0.0.1, 192.0.2.3'];
  const { addresses, warnings } = await judge({ TRUST_PROXY: '127.0.0.1' }, forwarded);
  expect(addresses).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3']);
  expect(warnings).toEqual([]);
});

test('Whoever a proxy says came is one client, with a port or without, and what is no address is the proxy', async () => {
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
  expect(await remaining('2001:db8::1')).toBe(29);
  expect(await remaining('[2001:db8::2]:80')).toBe(28);
  expect(await remaining('[2001:db8::3]')).toBe(27);
  expect(await remaining('unknown')).toBe(29);
  expect(await remaining('_hidden')).toBe(28);
  expect(await remaining('127.0.0.1')).toBe(27);
});

test('A proxy that is not the one trusted is not believed', async () => {
  const { addresses } = await judge({ TRUST_PROXY: '10.0.0.0/8' }, ['192.0.2.1']);
  expect(addresses).toEqual(['127.0.0.1']);
});
