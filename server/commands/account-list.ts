import type { SessionSummary, TokenSummary } from '../../generated/types.gen.ts';
import {
  type Account,
  listAccounts as findAccounts,
  readAccount,
} from '../accounts/account-list.ts';
import { listSessions } from '../auth/sessions.ts';
import { onDatabase } from '../command-line/on-database.ts';
import { printable, quoted } from '../command-line/printable.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { type Page, type PageRequest, readPages } from '../pagination.ts';
import { listReports, type Report } from '../reports/open-reports.ts';
import { type CreatedSpace, listCreatedSpaces } from '../spaces/user-spaces.ts';
import { quantity } from '../text/quantity.ts';
import { listTokens } from '../tokens/tokens.ts';
import { describeReport } from './reports.ts';

/** Number of items read at once. */
const BATCH_SIZE = 100;

export const listAccounts = onDatabase(async (engine, { argument, flags }, { console }, config) => {
  const print = (account: Account | AccountDetails) =>
    console.log(flags.includes('json') ? JSON.stringify(account) : describe(account));
  const isSuspended = flags.includes('suspended');
  const isUnverified = flags.includes('unverified');
  if (argument !== '' && !isSuspended && !isUnverified) {
    const found = await readAccount(engine, argument);
    if (found) return print(await addDetails(engine, config, found));
  }
  let count = 0;
  const filter = { username: argument, isSuspended, isUnverified };
  for await (const accounts of readPages(
    (request) => findAccounts(engine, filter, request),
    BATCH_SIZE,
  )) {
    for (const account of accounts) print(account);
    count += accounts.length;
  }
  console.error(`Accounts: ${count}.`);
});

interface AccountDetails extends Account {
  sessions: Omit<SessionSummary, 'is_current'>[];
  tokens: TokenSummary[];
  spaces: CreatedSpace[];
  /** Those about the account and those that it sent. */
  reports: Report[];
}

async function addDetails(
  engine: Engine,
  { sessions: lifetimes }: Config,
  { userPk, account }: { userPk: number; account: Account },
): Promise<AccountDetails> {
  const all = async <T>(read: (request: PageRequest) => Promise<Page<T>>) => {
    const items: T[] = [];
    for await (const page of readPages(read, BATCH_SIZE)) items.push(...page);
    return items;
  };
  const caller = { userPk, sessionPk: null };
  const sessions = await all((request) => listSessions(engine, caller, lifetimes, request));
  return {
    ...account,
    sessions: sessions.map(({ is_current: _, ...session }) => session),
    tokens: await all((request) => listTokens(engine, { userPk }, request)),
    spaces: await all((request) => listCreatedSpaces(engine, userPk, request)),
    reports: await all((request) => listReports(engine, request, { ofUser: userPk })),
  };
}

/** Returns an account as one line, and its details as further lines with the ids that other commands take. */
function describe(account: Account | AccountDetails): string {
  const states = [
    account.suspended_at === null ? [] : `suspended ${account.suspended_at}`,
    account.is_verified ? [] : 'not verified',
  ].flat();
  const line = [account.user_id, account.created_at, account.username, account.email, ...states];
  if (!('sessions' in account)) return line.map(printable).join('  ');
  return [
    `account      ${line.map(printable).join('  ')}`,
    ...account.sessions.map(
      (each) =>
        `session      ${each.session_id}  ${each.created_at}  last used ${each.last_used_at}  ${quoted(each.device_name ?? '')}`,
    ),
    ...account.tokens.map(
      (each) =>
        `token        ${each.token_id}  ${each.created_at}  ${each.scopes.join(' ')}  ${quoted(each.name)}`,
    ),
    ...account.spaces.map(
      (each) =>
        `space        ${each.space_id}  ${each.created_at}  ${each.visibility}  ${quantity(each.participant_count, 'participant')}  ${quoted(each.title)}`,
    ),
    ...account.reports.map((each) => `\n${describeReport(each).trimEnd()}`),
  ].join('\n');
}
