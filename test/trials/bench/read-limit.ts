import { clientKeys } from '../../../server/http/client-key.ts';
import { createReadLimits } from '../../../server/rate-limits/read-limits.ts';
import { median, rangeOf } from '../../support/statistics.ts';
import { type Figure, formatNumber } from './report.ts';

const REQUESTS = 200_000;
const ROUNDS = 5;
/** Fewer than the addresses that the service caches, so that none is parsed twice. */
const CLIENTS = 5_000;

/** Measures the processor time that the limit of public reads adds to each of them. */
export function measureReadLimit(): Figure {
  const one = measure(['127.0.0.1']);
  const many = measure(
    Array.from({ length: CLIENTS }, (_, i) => `2001:db8:${(i >> 8).toString(16)}:${i & 255}::1`),
  );
  return {
    name: 'limit of public reads, processor time per request',
    ours: `${formatNumber(median(one))} µs with one client, ${formatNumber(median(many))} µs with ${CLIENTS} clients over IPv6`,
    reference: '',
    value: median(many),
    unit: 'µs',
    spread: rangeOf(many),
  };
}

/** Returns the microseconds per request of each round. */
function measure(addresses: string[]): number[] {
  const limits = createReadLimits(1_000_000_000);
  // After the first call, reads are also counted for other workers.
  limits.takeCounts();
  const socket = { remoteAddress: '127.0.0.1' } as never;
  const run = () => {
    for (let i = 0; i < REQUESTS; i += 1) {
      limits.count(clientKeys({ ip: addresses[i % addresses.length] as string, socket }));
    }
  };
  run();
  return Array.from({ length: ROUNDS }, () => {
    const startedAt = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(startedAt);
    return (user + system) / REQUESTS;
  });
}
