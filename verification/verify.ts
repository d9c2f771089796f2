import { contract, type Parameter, resolveReference } from '../server/contract.ts';
import { type Check, checkOf, failedCheck, missingOperationCheck } from './checks.ts';
import { declaredResponses } from './declared-responses.ts';
import { type Result, runDredd } from './dredd.ts';
import { findMissingOperations, operationIn } from './missing-operations.ts';
import { prepareWith } from './preparation.ts';
import { scenarios } from './scenarios/index.ts';
import { runScenarios } from './scenarios/run.ts';
import { secondsToWait, waitFor } from './waiting.ts';
import { CleanupError, type Servers } from './world.ts';

export interface Verification {
  checks: Check[];
  /** Reasons why declared responses are not checked, by id. */
  omitted: Map<string, string>;
  /** Checks whose data could not be created, by name, with the operation that the server does not implement. */
  blocked: Map<string, string>;
}

/**
 * Checks every declared response that requests can provoke, and runs the scenarios. An operation that the server does
 * not implement is one failed check.
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
  const { url } = servers.world;
  const results = await runDredd(url, contractWith(isSelected), prepare, interruption);
  await repeatLimited(results, (ids) =>
    runDredd(
      url,
      contractWith((id) => ids.some((each) => operationIn(each) === id)),
      prepareWith(
        servers,
        () => {},
        (id) => ids.includes(id),
      ),
      interruption,
    ),
  );
  const checked = new Set(results.map(({ transaction }) => transaction.id));
  const notSent = selected.filter(({ id }) => !checked.has(id) && !omitted.has(id));
  const attempted = [
    ...results.map(checkOf),
    ...notSent.map(({ id }) => failedCheck(id, new Error('Dredd sent no request'))),
    ...(await runScenarios(
      servers.world,
      scenarios.filter(({ operation }) => isSelected(operation)),
      interruption,
    )),
  ];
  interruption?.throwIfAborted();
  const { checks, missing, blocked } = mergeMissingOperations(attempted, results, isSelected);
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

/**
 * Replaces the results of requests that the server has refused for now, because of other requests.
 * @param repeat sends the requests with these ids again
 */
async function repeatLimited(
  results: Result[],
  repeat: (ids: readonly string[]) => Promise<Result[]>,
): Promise<void> {
  const waits = results.flatMap(({ transaction: { id, real, expected } }) => {
    if (!real || String(real.statusCode) === expected.statusCode) return [];
    const response = { status: real.statusCode, headers: new Headers(real.headers) };
    const seconds = secondsToWait(response, 0);
    return seconds === undefined ? [] : [{ id, seconds }];
  });
  if (waits.length === 0) return;
  const longest = waits.reduce((a, b) => (b.seconds > a.seconds ? b : a));
  await waitFor(operationIn(longest.id), longest.seconds);
  for (const result of await repeat(waits.map(({ id }) => id))) {
    const i = results.findIndex(({ transaction: { id } }) => id === result.transaction.id);
    if (i >= 0) results[i] = result;
  }
}

/**
 * Returns the contract in JSON, with the selected operations only. Without parameters in headers, whose examples Dredd
 * would send: a key that is always the same would prevent creations.
 */
function contractWith(isSelected: (operationId: string) => boolean): string {
  return JSON.stringify(contract, (key, value) => {
    if (value?.operationId !== undefined && !isSelected(value.operationId)) return undefined;
    if (key !== 'parameters' || !Array.isArray(value)) return value;
    return value.filter((each) => resolveReference<Parameter>(contract, each).in !== 'header');
  });
}

/**
 * Replaces the checks of each operation that the server does not implement with one failed check, and removes the
 * checks that need the operation. A scenario that needs one that is not selected is left out, too.
 */
function mergeMissingOperations(
  attempted: readonly Check[],
  results: Result[],
  isSelected: (operationId: string) => boolean,
): { checks: Check[]; missing: Map<string, Check>; blocked: Verification['blocked'] } {
  const missing = new Map(
    [...findMissingOperations(results)].map(([id, result]) => [id, checkOf(result)]),
  );
  const ofImplemented = attempted.filter(({ name }) => !missing.has(operationIn(name)));
  const blocked: Verification['blocked'] = new Map();
  const failed = new Map<string, Check>();
  for (const check of ofImplemented) {
    const { name, rule, failedOperation: operationId, isMissing } = check;
    if (operationId === undefined) continue;
    const isScenario = rule !== undefined;
    // The operation has returned other responses, so this one is a failure of the scenario.
    if (isScenario && isSelected(operationId) && !missing.has(operationId)) continue;
    blocked.set(name, operationId);
    if (isScenario) continue;
    // An operation that is not selected has no results, so this check shows that it is missing.
    if (isMissing && !missing.has(operationId)) missing.set(operationId, check);
    else if (!isMissing && !failed.has(operationId)) failed.set(operationId, check);
  }
  const checks = [
    ...[...failed].map(([id, check]) => failedOperationCheck(`${id} for the test data`, check)),
    ...ofImplemented.filter(({ name }) => !blocked.has(name)),
    ...[...missing].map(([id, check]) => missingOperationCheck(id, check)),
  ];
  return { checks, missing, blocked };
}

/** Returns the failed check of an operation that prevented other checks. */
function failedOperationCheck(name: string, { causes, request, response }: Check): Check {
  return { name, causes, request, response };
}
