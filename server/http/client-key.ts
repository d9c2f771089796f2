import { isIP, isIPv4 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { ClientKeys } from '../rate-limits/read-limits.ts';

type Connection = Pick<FastifyRequest, 'ip' | 'socket'>;

/** Returns the rate-limit key of the client that sent a request. */
export function clientKey(connection: Connection): string {
  return clientKeys(connection).client;
}

/** Returns the rate-limit key of the client's network. */
export function networkKey(connection: Connection): string {
  return clientKeys(connection).network;
}

/** Cached by address, because parsing an address takes several microseconds. */
const keys = new LRUCache<string, ClientKeys>({ max: 10_000 });

export function clientKeys({ ip, socket }: Connection): ClientKeys {
  if (isIPv4(ip)) return { client: ip, network: ip };
  // Some proxies add a port: [2001:db8::1]:80 or 192.0.2.7:80.
  const [, bracketed, dotted] = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/.exec(ip) ?? [];
  const forwarded = bracketed ?? dotted ?? ip;
  // Proxies may also forward values such as `unknown`. Those clients share the key of their proxy.
  const address = isIP(forwarded) ? forwarded : (socket.remoteAddress ?? '');
  let known = keys.get(address);
  if (!known) {
    known = parseAddress(address);
    keys.set(address, known);
  }
  return known;
}

function parseAddress(address: string): ClientKeys {
  if (!ipaddr.isValid(address)) return { client: 'unknown', network: 'unknown' };
  const parsed = unwrap(ipaddr.process(address));
  if (!(parsed instanceof ipaddr.IPv6)) {
    return { client: parsed.toString(), network: parsed.toString() };
  }
  return {
    client: parsed.parts.slice(0, 4).join(':'),
    network: parsed.parts.slice(0, 3).join(':'),
  };
}

/** Returns the IPv4 address in an IPv6 address that stands for one: of NAT64 (RFC 6052) or 6to4 (RFC 3056). */
function unwrap(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!(address instanceof ipaddr.IPv6)) return address;
  const bytes = address.toByteArray();
  switch (address.range()) {
    case 'rfc6052':
      return new ipaddr.IPv4(bytes.slice(12));
    case '6to4':
      return new ipaddr.IPv4(bytes.slice(2, 6));
  }
  return address;
}
