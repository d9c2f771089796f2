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

test('A proxy that is not the one trusted is not believed', async () => {
  const { addresses } = await judge({ TRUST_PROXY: '10.0.0.0/8' }, ['192.0.2.1']);
  expect(addresses).toEqual(['127.0.0.1']);
});
