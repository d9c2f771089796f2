import { LRUCache } from 'lru-cache';

/** Limits public reads per client and network with token buckets in memory. */
export interface ReadLimits {
  /**
   * Counts a read.
   * @param weight how many reads it counts as
   */
  count(sender: Sender, weight?: number): ReadDecision;
  /** Returns the allowed reads since the last call, by key. Counts them only after the first call. */
  takeCounts(): ReadCounts;
  /** Adds reads that other processes have allowed. */
  addCounts(counts: ReadCounts): void;
}

/** The rate-limit keys of the sender of a request. */
export interface Sender {
  /** The IPv4 address, or the /64 block of an IPv6 address. */
  client: string;
  /**
   * The IPv4 address, or the /48 block of an IPv6 address. Many providers assign a /48 to a single customer, who can
   * send from 65,536 blocks of the size /64.
   */
  network: string;
}

export interface ReadDecision {
  isAllowed: boolean;
  /** Number of reads in a burst. */
  limit: number;
  /** Reads that are allowed immediately. */
  remaining: number;
  /** Seconds until a full burst is allowed again. */
  resetSeconds: number;
  /** Seconds until the next read is allowed. */
  retryAfterSeconds: number;
}

export type ReadCounts = (readonly [key: string, reads: number])[];

const MINUTE_MS = 60_000;

/** A client can send this share of the reads of a minute in a burst. */
const BURST_SHARE = 1 / 6;

/** Small limits allow bursts of at least this many reads, but never more than the limit per minute. */
const MIN_BURST = 10;

/** A network can read as much as this many clients. */
const CLIENTS_PER_NETWORK = 10;

/** Each takes a few hundred bytes. The least recently used bucket is evicted, which forgets the reads of its client. */
const MAX_BUCKETS = 50_000;

/** Maximum number of keys in a message to other processes: those with the most reads. */
const MAX_EXCHANGED_KEYS = 2_000;

interface Bucket {
  /** Negative if several processes together have allowed too many reads. */
  tokens: number;
  updatedAt: number;
}

/** @param now returns milliseconds, like `performance.now` */
export function createReadLimits(
  perMinute: number,
  now: () => number = () => performance.now(),
): ReadLimits {
  const burst = Math.min(perMinute, Math.max(MIN_BURST, Math.ceil(perMinute * BURST_SHARE)));
  const clients = createBuckets(burst, perMinute / MINUTE_MS);
  const networks = createBuckets(
    CLIENTS_PER_NETWORK * burst,
    (CLIENTS_PER_NETWORK * perMinute) / MINUTE_MS,
  );
  /** Undefined as long as nobody takes the counts. */
  let counts: Map<string, number> | undefined;
  const record = (key: string, weight: number) => counts?.set(key, (counts.get(key) ?? 0) + weight);
  const bucketsOf = (key: string) => (key.startsWith(NETWORK_PREFIX) ? networks : clients);

  return {
    count({ client, network }, weight = 1) {
      const time = now();
      const bucket = clients.refill(client, time);
      if (bucket.tokens < 1) return clients.describe(bucket);
      if (network !== client) {
        const networkBucket = networks.refill(NETWORK_PREFIX + network, time);
        if (networkBucket.tokens < 1) return networks.describe(networkBucket);
        networkBucket.tokens -= weight;
        record(NETWORK_PREFIX + network, weight);
      }
      bucket.tokens -= weight;
      record(client, weight);
      return { ...clients.describe(bucket), isAllowed: true };
    },
    takeCounts() {
      const taken = [...(counts ?? [])];
      counts = new Map();
      if (taken.length <= MAX_EXCHANGED_KEYS) return taken;
      return taken.sort((a, b) => b[1] - a[1]).slice(0, MAX_EXCHANGED_KEYS);
    },
    addCounts(added) {
      const time = now();
      for (const [key, reads] of added) {
        const buckets = bucketsOf(key);
        const bucket = buckets.refill(key, time);
        bucket.tokens = Math.max(-buckets.capacity, bucket.tokens - reads);
      }
    },
  };
}

/** Distinguishes the keys of networks from those of clients. */
const NETWORK_PREFIX = 'network ';

function createBuckets(capacity: number, tokensPerMs: number) {
  const buckets = new LRUCache<string, Bucket>({ max: MAX_BUCKETS });
  return {
    capacity,
    refill(key: string, time: number): Bucket {
      let bucket = buckets.get(key);
      if (!bucket) {
        bucket = { tokens: capacity, updatedAt: time };
        buckets.set(key, bucket);
      }
      const tokens = bucket.tokens + (time - bucket.updatedAt) * tokensPerMs;
      bucket.tokens = Math.min(capacity, tokens);
      bucket.updatedAt = time;
      return bucket;
    },
    describe({ tokens }: Bucket): ReadDecision {
      const secondsUntil = (wanted: number) =>
        Math.max(1, Math.ceil((wanted - tokens) / tokensPerMs / 1000));
      return {
        isAllowed: tokens >= 1,
        limit: capacity,
        remaining: Math.max(0, Math.floor(tokens)),
        resetSeconds: secondsUntil(capacity),
        retryAfterSeconds: secondsUntil(1),
      };
    },
  };
}
