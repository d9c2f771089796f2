import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

/** Returns the rate-limit key of a client: its IPv4 address, or the /64 block of its IPv6 address. */
export function clientKey({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  // Some proxies add a port: [2001:db8::1]:80 or 192.0.2.7:80.
  const [, bracketed, dotted] = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/.exec(ip) ?? [];
  const forwarded = bracketed ?? dotted ?? ip;
  // Proxies may also forward values such as `unknown`. Those clients share the key of their proxy.
  const address = ipaddr.isValid(forwarded) ? forwarded : (socket.remoteAddress ?? '');
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6) return parsed.parts.slice(0, 4).join(':');
  return parsed.toString();
}
