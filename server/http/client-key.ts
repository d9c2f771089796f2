import { isIP, isIPv4 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

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

type Connection = Pick<FastifyRequest, 'ip' | 'socket'>;

export function clientKey(connection: Connection): string {
  return readSender(connection).client;
}

export function networkKey(connection: Connection): string {
  return readSender(connection).network;
}

/** Cached by address, because parsing an address takes several microseconds. */
const senders = new LRUCache<string, Sender>({ max: 10_000 });

export function readSender({ ip, socket }: Connection): Sender {
  if (isIPv4(ip)) return { client: ip, network: ip };
  // Some proxies add a port: [2001:db8::1]:80 or 192.0.2.7:80.
  const [, bracketed, dotted] = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/.exec(ip) ?? [];
  const forwarded = bracketed ?? dotted ?? ip;
  // Proxies may also forward values such as `unknown`. Those clients share the key of their proxy.
  const address = isIP(forwarded) ? forwarded : (socket.remoteAddress ?? '');
  let sender = senders.get(address);
  if (!sender) {
    sender = parseSender(address);
    senders.set(address, sender);
  }
  return sender;
}

function parseSender(address: string): Sender {
  if (!ipaddr.isValid(address)) return { client: 'unknown', network: 'unknown' };
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) {
    return { client: parsed.toString(), network: parsed.toString() };
  }
  return {
    client: parsed.parts.slice(0, 4).join(':'),
    network: parsed.parts.slice(0, 3).join(':'),
  };
}
