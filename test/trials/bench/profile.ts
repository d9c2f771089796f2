import { findCaller } from '../../../server/auth/sessions.ts';
import type { Engine } from '../../../server/database/engine.ts';
import { readProfile } from '../../../server/profile/profile.ts';
import type { Server } from '../../support/server.ts';
import { median, rangeOf } from '../../support/statistics.ts';
import { alternate } from './alternate.ts';
import { WRITERS_PASSWORD, writers } from './data.ts';
import type { Effort } from './effort.ts';
import { avatars } from './latency.ts';
import type { LoadGenerator } from './load.ts';
import { type Figure, formatNumber } from './report.ts';

const DAY_SECONDS = 24 * 60 * 60;

/** Times the profile with its statistics for accounts with few and with many messages. */
export async function measureProfiles(
  server: Server,
  engine: Engine,
  generator: LoadGenerator,
  { rounds, warmUp, duration }: Effort,
): Promise<Figure[]> {
  const accounts = await Promise.all(
    writers.map(async ({ messages, email }) => {
      const token = await signIn(server, email);
      const caller = await findCaller(engine, token, {
        idleSeconds: DAY_SECONDS,
        absoluteSeconds: DAY_SECONDS,
      });
      if (!caller) throw new Error(`${email} has no session.`);
      return { messages, token, read: () => readProfile({ engine, avatars }, caller) };
    }),
  );
  const [few, some, many] = accounts as [Account, Account, Account];

  const overHttp: number[] = [];
  for (let i = 0; i < rounds; i += 1) {
    const { latencies } = await generator.send({
      url: server.url,
      paths: [['/api/profile/me']],
      mayRepeat: true,
      warmUp,
      duration,
      headers: [{ authorization: `Bearer ${many.token}` }],
    });
    overHttp.push(median(latencies));
  }
  const round = (account: Account) => async () => median(await timeReading(account));
  const pairs = await alternate(rounds, round(some), round(few));
  const ratios = pairs.map(([a, b]) => a / b);
  const inMicroseconds = (values: readonly number[]) => `${formatNumber(1000 * median(values))} µs`;
  return [
    {
      name: `profile of ${many.messages.toLocaleString('en')} messages, over HTTP`,
      ours: `${formatNumber(median(overHttp))} ms`,
      reference: '',
      value: median(overHttp),
      unit: 'ms',
      spread: rangeOf(overHttp),
      target: { max: 5 },
    },
    {
      name: `profile of ${some.messages.toLocaleString('en')} messages against ${few.messages}`,
      ours: inMicroseconds(pairs.map(([a]) => a)),
      reference: inMicroseconds(pairs.map(([, b]) => b)),
      value: median(ratios),
      unit: 'x',
      spread: rangeOf(ratios),
      target: { max: 4 },
      note: 'in process, because HTTP would hide part of the growth',
    },
  ];
}

interface Account {
  messages: number;
  token: string;
  read: () => Promise<unknown>;
}

async function timeReading({ read }: Account): Promise<number[]> {
  const milliseconds: number[] = [];
  for (let i = 0; i < 300; i += 1) {
    const before = performance.now();
    await read();
    milliseconds.push(performance.now() - before);
  }
  return milliseconds;
}

export async function signIn({ url }: Server, email: string): Promise<string> {
  const response = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: WRITERS_PASSWORD }),
  });
  if (!response.ok) throw new Error(`The login returned ${response.status}.`);
  return ((await response.json()) as { access_token: string }).access_token;
}
