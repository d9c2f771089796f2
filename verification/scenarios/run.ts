import type { Check } from '../checks.ts';
import { explainNetworkError } from '../exchange.ts';
import type { World } from '../world.ts';
import { MissingOperation } from './caller.ts';
import { Deviation } from './expectations.ts';
import type { Scenario } from './scenario.ts';
import { Accounts } from './stage.ts';

/** Scenarios run beside each other, so that none relies on being alone, and so that waiting takes less time. */
const CONCURRENCY = 4;

/** Runs scenarios beside each other. The order of the results is that of the scenarios. */
export async function runScenarios(
  world: World,
  scenarios: readonly Scenario[],
  interruption?: AbortSignal,
  onCheck: (check: Check, scenario: Scenario) => void = () => {},
): Promise<Check[]> {
  const accounts = new Accounts(world, interruption);
  const checks: Check[] = [];
  const waiting = scenarios.entries();
  async function runNext(): Promise<void> {
    for (const [i, scenario] of waiting) {
      if (interruption?.aborted) return;
      const check = await runScenario(scenario, accounts);
      checks[i] = check;
      onCheck(check, scenario);
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, runNext));
  return checks;
}

async function runScenario(scenario: Scenario, accounts: Accounts): Promise<Check> {
  const { operation, sentence, rule } = scenario;
  const exchanges: string[] = [];
  const check: Check = { name: `${operation}: ${sentence}`, causes: [], rule };
  const stage = accounts.openStage(exchanges);
  try {
    await scenario.run(stage);
    // After a failure, the state of the accounts is unknown.
    stage.close();
    return check;
  } catch (error) {
    if (error instanceof MissingOperation) {
      Object.assign(check, { failedOperation: error.operationId, isMissing: true });
    }
    const text = isExpected(error) ? error.message : explainNetworkError(error);
    return { ...check, causes: [{ text }], exchanges };
  }
}

function isExpected(error: unknown): error is Error {
  return error instanceof Deviation || error instanceof MissingOperation;
}
