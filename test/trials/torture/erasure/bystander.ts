import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../../../generated/sdk.gen.ts';
import { operations } from '../../../../server/contract.ts';
import { uploadAvatar } from '../../../support/avatar.ts';
import { register } from '../../../support/client.ts';
import { declaredStatuses } from '../../../support/contract.ts';
import { quantile } from '../../../support/statistics.ts';
import { sendExample } from '../people.ts';

/** The username of a user who reads and writes during a deletion. */
export const BYSTANDER = 'bystander';

/** Operations that can return 403 and would do so for the user who reads during the deletion. */
const forCreators = new Set(
  declaredStatuses()
    .filter((each) => each.endsWith(' 403'))
    .map((each) => each.split(' ')[0]),
);

/** Reads and writes continuously as another user and measures latencies. */
export async function startBystander(url: string) {
  const person = await register(url, BYSTANDER);
  const { client, userId, token } = person;
  await uploadAvatar(person);
  const space_id = 'foreign-0';
  await api.joinSpace({ client, path: { space_id }, body: {}, throwOnError: true });
  const body = { space_id, text: 'Here' };
  const { data: message } = await api.sendMessage({ client, body, throwOnError: true });
  const values = {
    q: 'tea',
    tag: 'baking',
    user_id: userId,
    space_id,
    message_id: message.message_id,
  };
  const reads = operations
    .filter(({ method, operationId }) => method === 'GET' && !forCreators.has(operationId))
    .map((operation) => () => sendExample(url, operation, values, token));
  const times = { reads: [] as number[], writes: [] as number[] };
  let isStopping = false;
  let sent = 1;
  const timed = async (
    kind: keyof typeof times,
    request: () => Promise<{ response?: Response }>,
  ) => {
    const begun = performance.now();
    const result = await request();
    times[kind].push(performance.now() - begun);
    assert(result.response?.ok, `${kind} of other users failed: ${JSON.stringify(result)}`);
  };
  const running = Promise.all([
    ...[0, 1].map(async (first) => {
      for (let i = first; !isStopping; i += 1) {
        await timed('reads', reads[i % reads.length] as (typeof reads)[number]);
        await sleep(2);
      }
    }),
    (async () => {
      while (!isStopping) {
        const body = { space_id, text: `Still here, ${sent}` };
        await timed('writes', () => api.sendMessage({ client, body }));
        sent += 1;
        await sleep(5);
      }
    })(),
  ]);
  // stop() rejects with the error. Until then, it must not count as unhandled.
  running.catch(() => {});
  return {
    /** Returns the measurements of the requests that have ended since the last call. */
    measure() {
      const summaries = Object.entries(times).map(([kind, each]) => {
        assert(each.length > 0, `other users finished no ${kind}`);
        const [p99, max] = [quantile(each, 0.99), Math.max(...each)];
        return `${each.length} ${kind}, p99 ${p99.toFixed(1)} ms, at most ${max.toFixed(0)} ms`;
      });
      const slowest = Math.max(...times.reads, ...times.writes);
      Object.assign(times, { reads: [], writes: [] });
      return { summary: summaries.join('; '), slowest };
    },
    /** Returns the number of messages sent. */
    async stop() {
      isStopping = true;
      await running;
      return sent;
    },
  };
}
