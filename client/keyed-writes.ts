import type { Client } from '../generated/client/index.ts';
import { client as defaultClient } from '../generated/client.gen.ts';
import * as sdk from '../generated/sdk.gen.ts';

/** Time in which the server usually finishes a request whose connection has broken. */
const REPETITION_DELAY_MS = 1_000;

/**
 * Creates a space. The caller becomes its creator and first participant. If the connection breaks, repeats the request
 * once, and never creates a second space.
 */
export const createSpace: typeof sdk.createSpace = (options) =>
  sdk.createSpace(repeatable(options));

/** Sends a message to a space. If the connection breaks, repeats the request once, and never sends a second message. */
export const sendMessage: typeof sdk.sendMessage = (options) =>
  sdk.sendMessage(repeatable(options));

/** Edits a message. If the connection breaks, repeats the request once, which succeeds even with its `If-Match`. */
export const editMessage: typeof sdk.editMessage = (options) =>
  sdk.editMessage(repeatable(options));

/** Changes a space. If the connection breaks, repeats the request once, which succeeds even with its `If-Match`. */
export const updateSpace: typeof sdk.updateSpace = (options) =>
  sdk.updateSpace(repeatable(options));

/** Renews an invitation code. If the connection breaks, repeats the request once, and never renews the code twice. */
export const renewInvitationCode: typeof sdk.renewInvitationCode = (options) =>
  sdk.renewInvitationCode(repeatable(options));

/** Adds an `Idempotency-Key`, unless the headers have one, and a `fetch` that repeats the request. */
function repeatable<
  Options extends { client?: Client; fetch?: typeof fetch; headers?: object | null },
>(options: Options): Options {
  const { client = defaultClient, headers } = options;
  const send = options.fetch ?? client.getConfig().fetch ?? globalThis.fetch;
  const receive = async (request: Request) => {
    const response = await send(request);
    // Fails if the connection breaks before the end of the body.
    await response.clone().arrayBuffer();
    return response;
  };
  return {
    ...options,
    headers: { 'Idempotency-Key': newKey(), ...headers },
    fetch: async (input: Request) => {
      const repetition = input.clone();
      try {
        return await receive(input);
      } catch (error) {
        await sleep(REPETITION_DELAY_MS, input.signal);
        // Here, because Node.js does not always abort a clone together with its request.
        if (input.signal?.aborted) throw input.signal.reason ?? error;
        return receive(repetition);
      }
    },
  };
}

/** Returns a new `Idempotency-Key`. Not from `crypto`, which React Native lacks. The key need only differ from others of the same user. */
export function newKey(): string {
  const part = () =>
    Math.trunc(Math.random() * 2 ** 52)
      .toString(36)
      .padStart(11, '0');
  return part() + part();
}

/** Ends early if the signal aborts. In React Native, requests can have no signal. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
    setTimeout(resolve, ms);
  });
}
