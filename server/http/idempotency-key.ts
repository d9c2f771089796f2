import type { FastifyRequest } from 'fastify';
import type { KeyedRequest } from '../accounts/idempotency-keys.ts';

/** Returns a request that its client can repeat, or null if it has no Idempotency-Key. */
export function keyedRequest({
  headers,
  routeOptions,
  params,
  body,
}: FastifyRequest): KeyedRequest | null {
  const key = headers['idempotency-key'];
  if (typeof key !== 'string') return null;
  const operation = routeOptions.config.operation?.operationId ?? '';
  const input = { ...(params as object), ...(body as object | undefined) };
  return { key: key.replaceAll('"', ''), operation, input };
}
