import { createSpace } from './actions.ts';
import type { Caller, Inputs, OperationId } from './caller.ts';
import { equal, require } from './expectations.ts';
import type { Scenario, Stage } from './scenario.ts';

/** A limit, and requests that count against it. */
interface Limit {
  operation: OperationId;
  rule: string;
  requests: number;
  open(stage: Stage): Promise<{ caller: Caller; inputs: Inputs }>;
}

/** The limits that only the requests of one account or address use up. */
const limits: Limit[] = [
  {
    operation: 'changeUsername',
    rule: 'Rate limit: 20 requests per account per 5 minutes.',
    requests: 20,
    async open({ newcomer }) {
      const caller = await newcomer();
      return { caller, inputs: { username: caller.account.username } };
    },
  },
  {
    operation: 'changeProfilePicture',
    rule: 'Rate limit: 60 requests per account per 30 minutes, including rejected ones.',
    requests: 60,
    async open({ newcomer }) {
      return { caller: await newcomer(), inputs: { avatar: Buffer.from('This is text.') } };
    },
  },
  {
    operation: 'login',
    rule: 'Rate limit: 30 failed attempts per 5 minutes for each pair of email address and client IP address',
    requests: 30,
    async open({ anonymous, word }) {
      const inputs = { email: `${word()}@example.com`, password: 'this is not the password' };
      return { caller: anonymous, inputs };
    },
  },
  {
    operation: 'joinSpace',
    rule: 'Rate limit: 30 failed requests per account per hour',
    requests: 30,
    async open({ newcomer, word }) {
      return { caller: await newcomer(), inputs: { space_id: word() } };
    },
  },
];

/** Requests that count against a limit can be restored meanwhile. */
const TOLERANCE = 0.1;

async function reach(limit: Limit, stage: Stage): Promise<void> {
  const { operation, requests, open } = limit;
  const { caller, inputs } = await open(stage);
  const { headers } = await (await stage.user()).exchange('getProfile');
  // The limits of this server are off.
  if (!headers.has('ratelimit-limit')) return;
  const max = Math.ceil(requests * (1 + TOLERANCE)) + 1;
  let sent = 0;
  for (let status = 0; status !== 429; sent += 1) {
    require(sent <= max, `${operation} accepts ${max} requests instead of ${requests}`);
    ({ status } = await caller.exchange(operation, inputs, { acceptsLimit: true }));
  }
  require(sent >
    requests *
      (1 - TOLERANCE), `${operation} refuses request ${sent}, although ${requests} are permitted`);
  // The account is of no use for other scenarios.
  if (caller !== stage.anonymous) await caller.call('logout');
}

/** Of a server without quotas per hour and day, the headers are absent. */
async function countDown({ newcomer }: Stage): Promise<void> {
  const user = await newcomer();
  const { space_id } = await createSpace(user);
  const readQuota = async (): Promise<number[]> => {
    const { headers } = await user.exchange('sendMessage', { space_id, text: 'Hello' });
    const policy = /^(\d+);w=(?:3600|86400)$/.exec(headers.get('ratelimit-policy') ?? '0;w=3600');
    const names = ['limit', 'remaining', 'reset'];
    return [policy?.[1], ...names.map((name) => headers.get(`ratelimit-${name}`))].map(Number);
  };
  const [policy, limit, remaining, reset] = (await readQuota()) as [number, number, number, number];
  if (policy === 0) return;
  equal(limit, policy, 'RateLimit-Limit, compared with RateLimit-Policy,');
  require(reset >= 3500 && reset <= 86_400, `RateLimit-Reset is ${reset}`);
  equal((await readQuota()).slice(0, 3), [policy, limit, remaining - 1], 'The quota after another');
}

export const rateLimits: Scenario[] = [
  ...limits.map((limit) => ({
    operation: limit.operation,
    sentence: `accepts ${limit.requests} requests before its rate limit, and few more`,
    rule: limit.rule,
    run: (stage: Stage) => reach(limit, stage),
  })),
  {
    operation: 'sendMessage',
    sentence: 'the RateLimit headers of a quota count down',
    rule: 'has the `RateLimit` headers of the quota of which the least remains',
    run: countDown,
  },
];
