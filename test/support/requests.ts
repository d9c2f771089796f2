import type { Operation } from '../../server/contract.ts';
import { exampleRequest } from '../../verification/requests.ts';

export { bodyExampleOf, exampleRequest, inputNamesOf } from '../../verification/requests.ts';

/**
 * Returns the paths of an operation with every combination of values for its required parameters.
 * @param values by the name of the parameter; the others have their examples
 */
export function pathsWith(
  operation: Operation,
  values: Readonly<Record<string, readonly string[]>>,
): string[] {
  let combinations: Record<string, string>[] = [{}];
  for (const { name, required } of operation.parameters) {
    const choices = required ? values[name] : undefined;
    if (!choices) continue;
    combinations = combinations.flatMap((each) => choices.map((v) => ({ ...each, [name]: v })));
  }
  return combinations.map((each) => exampleRequest(operation, each).url);
}

/** Operations that end the caller's session when they succeed. */
export const sessionEndingOperations: readonly string[] = ['logout', 'deleteAccount'];
