import { apiCompare, type Diff } from 'api-smart-diff';

/** An OpenAPI document, as far as it is looked at here. */
export interface Contract {
  security?: object[];
  paths: Record<string, Record<string, { operationId?: string; security?: object[] }>>;
}

/** What keeps clients of one contract from getting along with another, a line each. */
export function breakingChanges(before: Contract, after: Contract): string[] {
  const { diffs } = apiCompare(before, after);
  return [
    ...diffs
      .filter(breaks)
      .map(({ path, description, action }) => `${path.join('/')}: ${description ?? action}`),
    ...operationChanges(before, after),
  ];
}

/** The library's verdict, corrected where it knows less of this contract, or less of clients. */
function breaks(diff: Diff): boolean {
  const { type, action, path } = diff;
  // Where a component is used, it is compared as what it is there, which tells requests from answers. Its name is that
  // of a type in clients.
  if (path[0] === 'components') return action === 'remove' && path.length === 3;
  const isInAnswer = path.includes('responses');
  if (isInAnswer && action !== 'add' && path.at(-1) === 'type') return true;
  // Request bodies are closed, so a field that is no longer known is refused.
  const isField = path.at(-2) === 'properties';
  if (action === 'remove' && isField && path.includes('requestBody')) return true;
  return type === 'breaking';
}

/** Functions of clients that are called otherwise, and operations that suddenly want a token. */
function operationChanges(before: Contract, after: Contract): string[] {
  const changes: string[] = [];
  for (const [path, item] of Object.entries(before.paths)) {
    for (const [method, old] of Object.entries(item)) {
      const now = after.paths[path]?.[method];
      if (old.operationId === undefined || now === undefined) continue;
      if (now.operationId !== old.operationId) {
        changes.push(`${old.operationId}: is called ${now.operationId}`);
      }
      if (needsToken(now, after) && !needsToken(old, before)) {
        changes.push(`${old.operationId}: needs an access token`);
      }
    }
  }
  return changes;
}

function needsToken(operation: { security?: object[] }, contract: Contract): boolean {
  const ways = operation.security ?? contract.security ?? [];
  return ways.length > 0 && ways.every((each) => Object.keys(each).length > 0);
}
