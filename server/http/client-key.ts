import { isIP, isIPv4 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { Sender } from '../rate-limits/read-limits.ts';

type Connection = Pick<FastifyRequest, 'ip' | 'socket'>;

/** Returns the rate-limit key of the client that sent a request. */
export function clientKey(connection: Connection): string {
  return readSender(connection).client;
}

/** Returns the rate-limit key of the client's network. */
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
