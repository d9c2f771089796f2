import { relayMessages } from '../system/cluster-relay.ts';
import type { ReadCounts, ReadLimits } from './read-limits.ts';

/** The reads that a worker has allowed since its last message. The supervisor passes it on to the other workers. */
interface ReadsMessage {
  reads: ReadCounts;
}

/** Interval at which workers exchange counts. Until the first exchange, each allows as many reads as the limit. */
const EXCHANGE_INTERVAL_MS = 1_000;

/** Makes this process, the supervisor, pass on the counts of reads between workers. */
export function relayReads(): void {
  relayMessages('reads' satisfies keyof ReadsMessage);
}

/**
 * Makes this process, a worker, exchange counts of reads with the other workers.
 * @returns a function that stops it
 */
export function shareReads(limits: ReadLimits): () => void {
  const receive = (message: Partial<ReadsMessage>) => {
    if (message.reads) limits.addCounts(message.reads);
  };
  process.on('message', receive);
  const timer = setInterval(() => {
    const reads = limits.takeCounts();
    if (reads.length > 0) process.send?.({ reads } satisfies ReadsMessage, () => {});
  }, EXCHANGE_INTERVAL_MS).unref();
  return () => {
    clearInterval(timer);
    process.off('message', receive);
  };
}
