import { contract } from '../server/contract.ts';
import { checkBehaviour } from './behaviour.ts';
import { type Check, checkOf, failedCheck, missingOperationCheck } from './checks.ts';
import { declaredResponses } from './declared-responses.ts';
import { type Result, runDredd } from './dredd.ts';
import { findMissingOperations, operationIn } from './missing-operations.ts';
import { prepareWith } from './preparation.ts';
import { CleanupError, type Servers } from './world.ts';

export interface Verification {
  checks: Check[];
  /** Reasons why declared responses are not checked, by id. */
  omitted: Map<string, string>;
  /** Checks whose data could not be created, by name, with the operation that the server does not implement. */
  blocked: Map<string, string>;
}

/**
 * Checks every declared response that requests can provoke, and behaviour that the contract describes. An operation
 * that the server does not implement is one failed check.
 * @param cleanup deletes the test data, or stops the servers
 * @param isSelected returns whether to check an operation
 * @param interruption ends the verification, which then rejects with the reason
 */
export async function verify(
  servers: Servers,
  cleanup: AsyncDisposableStack,
  isSelected: (operationId: string) => boolean = () => true,
  interruption?: AbortSignal,
): Promise<Verification> {
  const selected = declaredResponses.filter(({ operation }) => isSelected(operation.operationId));
  const omitted = new Map<string, string>();
  for (const { id } of selected.filter(({ isFirstExample }) => !isFirstExample)) {
    omitted.set(id, 'Dredd sends a request only for the first of several examples');
  }
  const prepare = prepareWith(servers, ({ id }, reason) => omitted.set(id, reason));
  const results = await runDredd(
    servers.world.url,
    contractWith(isSelected),
    prepare,
    interruption,
  );
  const checked = new Set(results.map(({ transaction }) => transaction.id));
  const notSent = selected.filter(({ id }) => !checked.has(id) && !omitted.has(id));
  const attempted = [
    ...results.map(checkOf),
    ...notSent.map(({ id }) => failedCheck(id, new Error('Dredd sent no request'))),
    ...(await checkBehaviour(servers.world, isSelected)),
  ];
  interruption?.throwIfAborted();
  const { checks, missing, blocked } = mergeMissingOperations(attempted, results);
  for (const id of omitted.keys()) if (missing.has(operationIn(id))) omitted.delete(id);
  try {
    await cleanup.disposeAsync();
  } catch (error) {
    const name = 'deleteAccount leaves no test data';
    checks.push(
      error instanceof CleanupError
        ? { name, causes: error.problems.map((text) => ({ text })) }
        : failedCheck(name, error),
    );
  }
  return { checks, omitted, blocked };
}

/** Returns the contract in JSON, with the selected operations only. */
function contractWith(isSelected: (operationId: string) => boolean): string {
  return JSON.stringify(contract, (_key, value) =>
    value?.operationId === undefined || isSelected(value.operationId) ? value : undefined,
  );
}

/**
 * Replaces the checks of each operation that the server does not implement with one failed check, and removes the
 * checks whose data the operation should have created.
 */
function mergeMissingOperations(
  attempted: readonly Check[],
  results: Result[],
): { checks: Check[]; missing: Map<string, Check>; blocked: Verification['blocked'] } {
  const missing = new Map(
    [...findMissingOperations(results)].map(([id, result]) => [id, checkOf(result)]),
  );
  const ofImplemented = attempted.filter(({ name }) => !missing.has(operationIn(name)));
  const blocked: Verification['blocked'] = new Map();
  for (const check of ofImplemented) {
    const { name, missingOperation } = check;
    if (missingOperation === undefined) continue;
    blocked.set(name, missingOperation);
    // An operation that is not selected has no results, so this check shows that it is missing.
    if (!missing.has(missingOperation)) missing.set(missingOperation, check);
  }
  const checks = [
    ...ofImplemented.filter(({ name }) => !blocked.has(name)),
    ...[...missing].map(([id, check]) => missingOperationCheck(id, check)),
  ];
  return { checks, missing, blocked };
}
