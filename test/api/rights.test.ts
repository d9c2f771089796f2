import { beforeAll, expect, test } from 'vitest';
import { PROBLEM_STATUSES } from '../../generated/problem-codes.gen.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { Space } from '../../generated/types.gen.ts';
import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { contract, type Operation, operations } from '../../server/contract.ts';
import { newUsername } from '../../verification/accounts.ts';
import { CALLERS, outcomeOf, rules, type Visibility } from '../../verification/rights.ts';
import { access } from '../../verification/scenarios/access.ts';
import { Accounts } from '../../verification/scenarios/stage.ts';
import type { TestUser } from '../support/client.ts';
import { validatedFetch } from '../support/contract.ts';
import { exampleRequest } from '../support/requests.ts';
import { createSpace, joinSpace } from '../support/spaces.ts';
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

/** A suspended user, with a space of their own and one that they moderate. */
let suspended: TestUser;
let spacesOfSuspended: Space[];
beforeAll(async () => {
  suspended = await app.register();
  const host = await app.register();
  const own = await createSpace(suspended);
  const moderated = await createSpace(host);
  await joinSpace(suspended, moderated);
  const path = { space_id: moderated.space_id, user_id: suspended.userId };
  await api.appointModerator({ client: host.client, path, throwOnError: true });
  spacesOfSuspended = [own, moderated];
  await suspendAccount(app.context.engine, suspended.userId);
});

const isRestricted = ({ operationId }: Operation) =>
  rules.some(({ operation }) => operation === operationId);

test.each(operations.filter(isRestricted))(
  'suspended creators and moderators cannot call $operationId',
  async (operation) => {
    for (const { space_id } of spacesOfSuspended) {
      expect(await refusalOf(operation, suspended, { space_id })).toBe('401 unauthenticated');
    }
  },
);

/** Codes of refusals that depend on nothing but the caller. */
const REFUSALS = ['unauthenticated', 'account_suspended'];

/** Returns the status and code with which the example request of an operation is refused because of its caller. */
async function refusalOf(
  operation: Operation,
  caller: TestUser | undefined,
  parameters: Record<string, string> = {},
): Promise<string | undefined> {
  // Everyone signs in to an account of their own.
  const { email, password } = caller ?? (await app.register());
  const values = operation.operationId === 'login' ? { email, password } : parameters;
  const { url, init } = exampleRequest(operation, values);
  const headers = { ...(init.headers as Record<string, string>), ...caller?.headers };
  const response = await app.fetch(url, { ...init, headers });
  const { code } = (response.status < 400 ? {} : await response.json()) as { code?: string };
  return code && REFUSALS.includes(code) ? `${response.status} ${code}` : undefined;
}

test('docs/rights.md has the same rights', async () => {
  const rows: string[][] = [];
  for (const operation of operations.filter((each) => !isRestricted(each))) {
    const callers = [undefined, await app.register(), suspended];
    const refusals = [];
    for (const caller of callers) refusals.push(await refusalOf(operation, caller));
    rows.push([
      operation.operationId,
      ...refusals.map((each) => each?.replace(' unauthenticated', '') ?? '✓'),
    ]);
  }
  await expect(renderDocument(rows)).toMatchFileSnapshot('../../docs/rights.md');
});

function renderDocument(others: readonly string[][]): string {
  return `# Rights

Who may call which operation. \`test/api/rights.test.ts\` sends a request for every cell, and writes this file with
\`npm test -- test/api/rights.test.ts --update\`. The rules are in \`server/spaces/rights.ts\`.

A *stranger* has never joined the space, a *former* participant has left it, and a *removed* one cannot join it again.
After the operation, the table names the user or the author of the message that it is called on. ✓ means that the request
succeeds, and a number is the status of the error. 401 has the code \`unauthenticated\`, the others have those in the last
column. *Suspended* users are creators, moderators or strangers. For everyone, the spaces of a suspended creator do not
exist, but authors can delete their messages in them.

## Public spaces

${renderRights('public')}

## Private spaces

\`joinSpace\` is without the invitation code, with which strangers and former participants can join.

${renderRights('private')}

## Other operations

✓ means that the service does not refuse the request because of the caller.

${renderTable(['operation', 'anonymous', 'signed in', 'suspended'], others)}

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

function renderTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const separator = heading.map(() => '---');
  return [heading, separator, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
