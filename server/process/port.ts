import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Config } from '../config.ts';
import { OperatorError, TemporaryError } from '../errors.ts';

/** The address on which the service listens. */
export type Address = Pick<Config, 'host' | 'port'>;

export class PortInUseError extends OperatorError {}

/**
 * Returns the configured port if it is free. For port 0, the system chooses one.
 * @throws PortInUseError, or another OperatorError if the address cannot be used
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

/** Returns an OperatorError if HOST or PORT cannot be used, and other errors unchanged. */
export function explainListenError(error: unknown, { host, port }: Address): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new PortInUseError(`PORT=${port} is in use on ${host}. Set PORT to another number.`);
    case 'EACCES':
      return new OperatorError(
        `This user may not listen on PORT=${port}. Set PORT to 1024 or higher, and use a reverse proxy for lower ports.`,
      );
    case 'EAI_AGAIN':
      return new TemporaryError(
        `HOST=${host} cannot be resolved, because the name server does not respond.`,
      );
    case 'ENOTFOUND':
    case 'EADDRNOTAVAIL':
      return new OperatorError(
        `HOST=${host} is not an address of this machine. Set HOST to one of its addresses, such as 127.0.0.1, or to 0.0.0.0 for all of them.`,
      );
    default:
      return error;
  }
}
