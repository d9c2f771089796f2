import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Config } from '../config.ts';
import { OperatorError } from '../errors.ts';

/** The address on which the service listens. */
export type Address = Pick<Config, 'host' | 'port'>;

/**
 * Returns the configured port if it is free. For port 0, the system chooses one.
 * @throws OperatorError if the port is in use
 */
export async function resolvePort(address: Address): Promise<number> {
  const probe = createServer();
  try {
    probe.listen({ host: address.host, port: address.port });
    await once(probe, 'listening');
  } catch (error) {
    throw explainListenError(error, address);
  }
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Returns an OperatorError if the port is in use, and other errors unchanged. */
export function explainListenError(error: unknown, { host, port }: Address): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error;
  return new OperatorError(`PORT=${port} is in use on ${host}. Set PORT to another number.`);
}
