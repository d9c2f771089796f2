import { describe, expect, test } from 'vitest';
import { createReadLimits, type ReadLimits } from '../../server/rate-limits/read-limits.ts';

let now = 0;
const open = (perMinute: number) => createReadLimits(perMinute, () => now);
const passSeconds = (seconds: number) => {
  now += seconds * 1000;
};
const ipv4 = { client: '192.0.2.1', network: '192.0.2.1' };
const ipv6 = (block: number) => ({ client: `2001:db8:1:${block}`, network: '2001:db8:1' });

/** Sends reads and returns the number of allowed ones. */
const send = (limits: ReadLimits, count: number, reader = ipv4) =>
  Array.from({ length: count }, () => limits.count(reader)).filter(({ isAllowed }) => isAllowed)
    .length;

describe('Limits of public reads', () => {
  test('allow a burst of 200 reads, then 20 per second, by default', () => {
    const limits = open(1_200);
    expect(send(limits, 250)).toBe(200);
    passSeconds(1);
    expect(send(limits, 50)).toBe(20);
    passSeconds(60);
    expect(send(limits, 1_000)).toBe(200);
  });

  test('allow 1,200 reads per minute without bursts', () => {
    const limits = open(1_200);
    let allowed = 0;
    for (let i = 0; i < 60; i += 1) {
      allowed += send(limits, 20);
      passSeconds(1);
    }
    expect(allowed).toBe(1_200);
  });

  test('allow 50 people behind one address to open a page with 20 avatars each minute', () => {
    const limits = open(1_200);
    // A search, a space and its messages, and four reads for the avatars.
    const reads = Array.from({ length: 50 * 10 }, () => {
      passSeconds(60 / 50);
      return send(limits, 7);
    });
    expect(reads.filter((allowed) => allowed < 7)).toEqual([]);
  });

  test('report how many reads are left, when the next one is allowed, and when a full burst is', () => {
    const limits = open(60);
    expect(limits.count(ipv4)).toEqual({
      isAllowed: true,
      limit: 10,
      remaining: 9,
      resetSeconds: 1,
      retryAfterSeconds: 1,
    });
    send(limits, 9);
    expect(limits.count(ipv4)).toMatchObject({
      isAllowed: false,
      remaining: 0,
      resetSeconds: 10,
      retryAfterSeconds: 1,
    });
  });

  test('count each client separately', () => {
    const limits = open(1_200);
    send(limits, 250);
    expect(send(limits, 250, { client: '192.0.2.2', network: '192.0.2.2' })).toBe(200);
  });

  test('allow a /48 block as much as ten clients', () => {
    const limits = open(1_200);
    const allowed = Array.from({ length: 30 }, (_, block) => send(limits, 250, ipv6(block)));
    expect(allowed.slice(0, 10)).toEqual(Array(10).fill(200));
    expect(allowed.slice(10)).toEqual(Array(20).fill(0));
    passSeconds(1);
    expect(send(limits, 300, ipv6(99))).toBe(200);
  });

  test('include the reads that other processes have allowed', () => {
    const [one, other] = [open(1_200), open(1_200)];
    // Counts begin with the first call.
    one.takeCounts();
    send(one, 150);
    other.addCounts(one.takeCounts());
    expect(send(other, 100)).toBe(50);
    expect(one.takeCounts()).toEqual([]);
    send(one, 1, ipv6(1));
    expect(one.takeCounts()).toHaveLength(2);
  });

  test('make up for reads that several processes together allowed beyond the limit', () => {
    const processes = [open(1_200), open(1_200)] as const;
    const exchange = () => {
      const counts = processes.map((each) => each.takeCounts());
      processes[0].addCounts(counts[1] ?? []);
      processes[1].addCounts(counts[0] ?? []);
    };
    exchange();
    let allowed = 0;
    for (let second = 0; second < 60; second += 1) {
      for (const each of processes) allowed += send(each, 50);
      exchange();
      passSeconds(1);
    }
    // A burst of 200 in each process, and 20 per second together.
    expect(allowed).toBeGreaterThanOrEqual(1_200);
    expect(allowed).toBeLessThanOrEqual(1_700);
  });
});
