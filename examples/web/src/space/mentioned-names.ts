import type { UserSummary } from 'space-service';

/** Divides a text at the names of users after `@`, and replaces these by the users. */
export function namesIn(text: string, users: readonly UserSummary[]): (string | UserSummary)[] {
  if (users.length === 0) return [text];
  const names = users
    .map(({ username }) => username)
    // `ada lovelace` before `ada`.
    .sort((a, b) => b.length - a.length)
    .map((name) => name.replaceAll('.', '\\.'));
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}\\p{M}@])@(${names.join('|')})(?![\\p{L}\\p{N}\\p{M}])`,
    'giu',
  );
  // A name follows each text in between.
  return text.split(pattern).map((part, index) => {
    const isName = index % 2 === 1;
    const user = isName && users.find(({ username }) => isSameName(username, part));
    return user || (isName ? `@${part}` : part);
  });
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The beginning of a name between `@` and the end of a text. */
export interface TypedName {
  /** Where the `@` is. */
  start: number;
  beginning: string;
}

/** Words with single spaces in between. */
const BEGINNING = /^(?:[^\s@]+(?: [^\s@]+)* ?)?$/u;

/** Returns the name that is being typed at the end of a text; undefined if there is none. */
export function typedName(text: string): TypedName | undefined {
  const start = text.lastIndexOf('@');
  const beginning = text.slice(start + 1);
  if (start < 0 || !BEGINNING.test(beginning)) return undefined;
  const isAfterName = /[\p{L}\p{N}\p{M}@]$/u.test(text.slice(0, start));
  return isAfterName ? undefined : { start, beginning };
}

/** Returns those users whose names have this beginning, without repetitions. */
export function usersWith(
  beginning: string,
  users: readonly UserSummary[],
  limit: number,
): UserSummary[] {
  const byId = new Map(users.map((user) => [user.user_id, user]));
  const wanted = beginning.toLowerCase();
  return [...byId.values()]
    .filter(({ username }) => username.toLowerCase().startsWith(wanted))
    .slice(0, limit);
}
