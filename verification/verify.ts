import { checkBehaviour } from './behaviour.ts';
import { type Check, checkOf, failedCheck } from './checks.ts';
import { declaredResponses } from './declared-responses.ts';
import { runDredd } from './dredd.ts';
import { prepareWith } from './preparation.ts';
import type { World } from './world.ts';

/** The servers that receive the requests, each with its test data. */
export interface Servers {
  /** The server under test. */
  world: World;
  /**
   * For responses that the server under test does not return: other servers or accounts, by id of the response or by
   * status.
   */
  specialWorlds: Partial<Record<string, World>>;
}

export interface Verification {
  checks: Check[];
  /** Reasons why declared responses are not checked, by id. */
  omitted: Map<string, string>;
}

/**
 * Checks every declared response that requests can provoke, and behaviour that the contract describes.
 * @param cleanup deletes the test data, or stops the servers
 */
export async function verify(
  servers: Servers,
  cleanup: AsyncDisposableStack,
): Promise<Verification> {
  const omitted = new Map<string, string>();
  for (const { id } of declaredResponses.filter(({ isFirstExample }) => !isFirstExample))
    omitted.set(id, 'Dredd sends a request only for the first of several examples');
  const prepare = prepareWith(servers, ({ id }, reason) => omitted.set(id, reason));
  const results = await runDredd(servers.world.url, prepare);
  const checked = new Set(results.map(({ transaction }) => transaction.id));
  const missing = declaredResponses.filter(({ id }) => !checked.has(id) && !omitted.has(id));
  const checks = [
    ...results.map(checkOf),
    ...missing.map(({ id }) => failedCheck(id, new Error('Dredd sent no request'))),
    ...(await checkBehaviour(servers.world)),
  ];
  try {
    await cleanup.disposeAsync();
  } catch (error) {
    checks.push(failedCheck('deleteAccount deletes the accounts of this run', error));
  }
  return { checks, omitted };
}
