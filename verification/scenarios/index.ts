import { access } from './access.ts';
import { auth } from './auth.ts';
import { blocks } from './blocks.ts';
import { following } from './following.ts';
import { lists } from './lists.ts';
import { mail } from './mail.ts';
import { messages } from './messages.ts';
import { profile } from './profile.ts';
import { rateLimits } from './rate-limits.ts';
import { reports } from './reports.ts';
import type { Scenario } from './scenario.ts';
import { search } from './search.ts';
import { server } from './server.ts';
import { spaces } from './spaces.ts';
import { tokens } from './tokens.ts';
import { users } from './users.ts';
import { values } from './values.ts';

/** All scenarios. The last ones use the accounts of the others, which saves registrations. */
export const scenarios: readonly Scenario[] = [
  ...auth,
  ...blocks,
  ...following,
  ...lists,
  ...mail,
  ...messages,
  ...profile,
  ...rateLimits,
  ...reports,
  ...search,
  ...server,
  ...spaces,
  ...tokens,
  ...users,
  ...values,
  ...access,
];
