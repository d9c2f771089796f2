import { beforeAll, expect, test } from 'vitest';
import { PROBLEM_STATUSES } from '../../generated/problem-codes.gen.ts';
import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { contract, operations } from '../../server/contract.ts';
import { newUsername } from '../../verification/accounts.ts';
import { CALLERS, outcomeOf, rules, type Visibility } from '../../verification/rights.ts';
import { access } from '../../verification/scenarios/access.ts';
import { Accounts } from '../../verification/scenarios/stage.ts';
import type { TestUser } from '../support/client.ts';
import { validatedFetch } from '../support/contract.ts';
import { exampleRequest } from '../support/requests.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();

/** Lends accounts of the application to the scenarios of the contract check. */
let accounts: Accounts | undefined;
function openStage() {
  accounts ??= new Accounts(
    {
      url: app.url,
      fetch: validatedFetch,
      newRegistration: () => {
        const username = newUsername();
        return { username, email: `${username}@example.com`, password: 'correct horse battery' };
      },
      adopt: () => {},
    },
    undefined,
  );
  return accounts.openStage([]);
}

test.each(access)('$operation: $sentence', async ({ run }) => {
  const stage = openStage();
  await run(stage);
  stage.close();
});

const usingToken = operations.filter(({ authentication }) => authentication !== 'none');

let suspended: TestUser;
beforeAll(async () => {
  suspended = await app.register();
  await suspendAccount(app.context.engine, suspended.userId);
});

test.each(usingToken)('suspended users cannot call $operationId', async (operation) => {
  const { url, init } = exampleRequest(operation);
  const headers = { ...(init.headers as Record<string, string>), ...suspended.headers };
  const response = await app.fetch(url, { ...init, headers });
  expect(await response.json()).toMatchObject({ status: 401, code: 'unauthenticated' });
});

test('docs/rights.md has the same rights', async () => {
  await expect(renderDocument()).toMatchFileSnapshot('../../docs/rights.md');
});

const restricted = new Set<string>(rules.map(({ operation }) => operation));

function renderDocument(): string {
  const others = operations.filter(({ operationId }) => !restricted.has(operationId));
  return `# Rights

Who may call which operation. \`test/api/rights.test.ts\` tries every cell, and writes this file with
\`npm test -- test/api/rights.test.ts --update\`. The rules are in \`server/spaces/rights.ts\`.

A *stranger* has never joined the space, a *former* participant has left it, and a *removed* one cannot join it again.
✓ means that the request succeeds, and a number is the status of the error. 401 has the code \`unauthenticated\`, the others
have those in the last column. For everyone, the spaces of a suspended creator do not exist.

## Public spaces

${renderRights('public')}

## Private spaces

\`joinSpace\` is without the invitation code, with which strangers and former participants can join.

${renderRights('private')}

## Other operations

${renderTable(['operation', 'anonymous', 'signed in', 'suspended'], others.map(rowOf))}

## Access tokens of programs

Programs have the rights of their owner, within the scopes of their access token. \`test/api/tokens.test.ts\` tries every
cell. Operations without a scope return 403, with the code \`session_required\`, and others with \`insufficient_scope\`. For
messages of others, \`deleteMessage\` needs \`moderate\`, too.

${renderTable(['operation', ...SCOPES], usingToken.map(scopesOf))}
`;
}

const SCOPES = contract.components.schemas.Scope?.enum as string[];

function scopesOf({ operationId, scope }: (typeof operations)[number]): string[] {
  return [operationId, ...SCOPES.map((each) => (each === scope ? '✓' : '403'))];
}

/** Outcomes without a code in the last column. */
const UNNAMED = ['ok', 'unauthenticated'];

function renderRights(visibility: Visibility): string {
  const rows = rules.map((rule) => {
    const outcomes = CALLERS.map((caller) => outcomeOf(rule, caller, visibility));
    const codes = new Set(outcomes.filter((outcome) => outcome && !UNNAMED.includes(outcome)));
    const errors = Array.from(codes, (code) => `\`${code}\``).join(', ');
    const operation = rule.on ? `${rule.operation}, ${rule.on}` : rule.operation;
    return [operation, ...outcomes.map(cellOf), '401', errors];
  });
  return renderTable(['operation', ...CALLERS, 'suspended', 'errors'], rows);
}

function cellOf(outcome: string | undefined): string {
  if (outcome === undefined) return '';
  if (outcome === 'ok') return '✓';
  return String(PROBLEM_STATUSES[outcome as keyof typeof PROBLEM_STATUSES]);
}

function rowOf({ operationId, authentication }: (typeof operations)[number]): string[] {
  const withoutToken = authentication === 'required' ? '401' : '✓';
  return [operationId, withoutToken, '✓', authentication === 'none' ? '✓' : '401'];
}

function renderTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const separator = heading.map(() => '---');
  return [heading, separator, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
