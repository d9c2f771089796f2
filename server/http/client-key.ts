import { isIPv4 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

type Sender = Pick<FastifyRequest, 'ip' | 'socket'>;

/** Returns the rate-limit key of a client: its IPv4 address, or the /64 block of its IPv6 address. */
export function clientKey(sender: Sender): string {
  return keyOf(sender, 64);
}

/**
 * Returns the rate-limit key of a client's network: its IPv4 address, or the /48 block of its IPv6 address. Many
 * providers assign a /48 to a single customer, who can send from 65,536 blocks of the size /64.
 */
export function networkKey(sender: Sender): string {
  return keyOf(sender, 48);
}

function keyOf({ ip, socket }: Sender, ipv6PrefixLength: number): string {
  // The usual case, because parsing takes several microseconds.
  if (isIPv4(ip)) return ip;
  // Some proxies add a port: [2001:db8::1]:80 or 192.0.2.7:80.
  const [, bracketed, dotted] = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/.exec(ip) ?? [];
  const forwarded = bracketed ?? dotted ?? ip;
  // Proxies may also forward values such as `unknown`. Those clients share the key of their proxy.
  const address = ipaddr.isValid(forwarded) ? forwarded : (socket.remoteAddress ?? '');
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6) return parsed.parts.slice(0, ipv6PrefixLength / 16).join(':');
  return parsed.toString();
}
