import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { parseBio } from '../accounts/bio.ts';
import { parseEmail } from '../accounts/email.ts';
import { explainOldUsername } from '../accounts/old-usernames.ts';
import { parseUsername } from '../accounts/username.ts';
import { isPasswordHash, PASSWORD_HASH_RULE } from '../auth/password-hashing.ts';
import { AVATAR_NAME_PATTERN } from '../avatars/store.ts';
import type { DatabaseTransaction } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import {
  columnOf,
  type ParameterType,
  prepareForRows,
  prepareForSet,
} from '../database/prepared.ts';
import type { NewRow } from '../database/schema.ts';
import { distinctSkeleton } from '../text/username-keys.ts';
import { timeOrNow } from './defaults.ts';
import { importableTime } from './importable.ts';
import { BadLineError, convertLines, countRecords, type ImportRun, type Line } from './run.ts';
import { ownIdSchema, recordSchema, textSchema, time } from './schemas.ts';

export interface UserRecord {
  type: 'user';
  user_id?: string;
  username: string;
  /** Whether the username is from before the current rules, so that it may break them or look like another one. */
  has_old_username?: boolean | undefined;
  email: string;
  /** An Argon2 or bcrypt hash, see `isPasswordHash`. Without one, the user cannot sign in until the operator sets a password. */
  password_hash?: string;
  bio?: string;
  /** File name of the avatar. The files are not part of the format. */
  picture?: string;
  is_verified?: boolean;
  created_at?: string;
  updated_at?: string;
  /** When the operator suspended the account. Without it, the account is not suspended. */
  suspended_at?: string;
}

export const userSchema = recordSchema('user', ['username', 'email'], {
  user_id: ownIdSchema('user_id'),
  username: textSchema('Registration', 'username'),
  has_old_username: { type: 'boolean' },
  email: textSchema('Registration', 'email'),
  password_hash: { type: 'string', maxLength: 500 },
  bio: textSchema('BioChange', 'bio'),
  picture: { type: 'string', pattern: AVATAR_NAME_PATTERN.source },
  is_verified: { type: 'boolean' },
  created_at: time,
  updated_at: time,
  suspended_at: time,
});

/**
 * Yields users with a skeleton from `distinctSkeleton` last. Imported first, such a user would get the plain skeleton,
 * because it is still free. Then the import would reject the user who has the plain skeleton in this database.
 */
export async function* readUsers(db: DatabaseTransaction): AsyncIterable<UserRecord> {
  yield* readUsersWhere(db, 'not like');
  yield* readUsersWhere(db, 'like');
}

async function* readUsersWhere(
  db: DatabaseTransaction,
  operator: 'like' | 'not like',
): AsyncIterable<UserRecord> {
  const rows = db
    .selectFrom('users')
    .select([
      'user_id',
      'username',
      'username_skeleton',
      'email',
      'password_hash',
      'bio',
      'avatar',
      'is_verified',
      'created_at',
      'updated_at',
      'suspended_at',
    ])
    .where(isLiveUser('pk'))
    .where('username_skeleton', operator, '%#%')
    .orderBy('pk')
    .stream();
  for await (const row of rows) {
    yield {
      type: 'user',
      user_id: row.user_id,
      username: row.username,
      has_old_username: explainOldUsername(row) === undefined ? undefined : true,
      email: row.email,
      password_hash: row.password_hash ?? undefined,
      bio: row.bio,
      picture: row.avatar ?? undefined,
      is_verified: row.is_verified === 1,
      created_at: importableTime(row.created_at),
      updated_at: importableTime(row.updated_at),
      suspended_at: row.suspended_at === null ? undefined : importableTime(row.suspended_at),
    };
  }
}

const selectConflicting = prepareForSet(
  {
    user_id: 'text',
    username_key: 'text',
    username_skeleton: 'text',
    email_key: 'text',
    avatar: 'nullable text',
  },
  (db, rows) =>
    db
      .selectFrom('users')
      .select(['user_id', 'username_key', 'username_skeleton', 'email_key', 'avatar'])
      .where(({ or, eb }) => {
        const isIn = (column: keyof UniqueKeys) => eb(column, 'in', columnOf(rows, column));
        return or([
          isIn('user_id'),
          isIn('username_key'),
          isIn('username_skeleton'),
          isIn('email_key'),
          isIn('avatar'),
          // See `distinctSkeleton`.
          ...rows.map(
            ({ username_skeleton: skeleton }) =>
              sql<boolean>`(username_skeleton > ${skeleton} || '#' AND username_skeleton < ${skeleton} || '$')`,
          ),
        ]);
      }),
);

const insertUsers = prepareForRows(
  {
    user_id: 'text',
    username: 'text',
    username_key: 'text',
    username_skeleton: 'text',
    email: 'text',
    email_key: 'text',
    password_hash: 'nullable text',
    bio: 'text',
    avatar: 'nullable text',
    is_verified: 'bigint',
    created_at: 'text',
    updated_at: 'text',
    suspended_at: 'nullable text',
  } satisfies Record<keyof NewRow<'users'>, ParameterType>,
  (db, rows) => db.insertInto('users').values(rows),
);

const deleteDiscardedAvatars = prepareForRows({ avatar: 'text' }, (db, rows) =>
  db.deleteFrom('discarded_avatars').where('avatar', 'in', columnOf(rows, 'avatar')),
);

export async function addUsers(
  run: ImportRun,
  records: readonly Line<UserRecord>[],
): Promise<void> {
  const { trx, report } = run;
  const parsed = convertLines(run, records, userOf);
  const rows = parsed.map(({ content }) => content.row);
  const existing = new ExistingUsers(await selectConflicting(trx, rows));
  const valid = convertLines(run, parsed, ({ row, hasId, isOld }, line) => {
    if (hasId ? existing.hasId(row.user_id) : existing.hasEmail(row.email_key)) return undefined;
    if (isOld && existing.hasSkeleton(row.username_skeleton)) {
      row.username_skeleton = distinctSkeleton(row.username_skeleton, row.user_id);
    }
    existing.assertNoConflict(row);
    // Later lines may conflict with this one.
    existing.add(row, hasId ? `user ${row.user_id}` : `the user of line ${line}`);
    return row;
  });
  const added = valid.flatMap(({ content }) => content ?? []);
  await insertUsers(trx, added);
  // An avatar is discarded if the user was deleted after the export. Housekeeping must not remove its file any more.
  const avatars = added.flatMap(({ avatar }) => (avatar === null ? [] : { avatar }));
  await deleteDiscardedAvatars(trx, avatars);
  countRecords(report, valid.length, added.length);
}

/** Returns the row of a user, before it is compared with other users. */
function userOf(record: UserRecord) {
  const isOld = record.has_old_username ?? false;
  const { name, key, skeleton } = parseUsername(record.username, { isOld });
  const { email, key: emailKey } = parseEmail(record.email);
  if (record.password_hash !== undefined && !isPasswordHash(record.password_hash)) {
    throw new BadLineError(`password_hash must be ${PASSWORD_HASH_RULE}`);
  }
  const createdAt = timeOrNow(record.created_at);
  const row = {
    // Not derived from the email address, because anyone who sees the id could then verify a guessed address.
    user_id: record.user_id ?? randomUUID(),
    username: name,
    username_key: key,
    username_skeleton: skeleton,
    email,
    email_key: emailKey,
    password_hash: record.password_hash ?? null,
    bio: parseBio(record.bio ?? ''),
    avatar: record.picture ?? null,
    is_verified: record.is_verified ? 1 : 0,
    created_at: createdAt,
    updated_at: record.updated_at === undefined ? createdAt : timeOrNow(record.updated_at),
    suspended_at: record.suspended_at === undefined ? null : timeOrNow(record.suspended_at),
  };
  return { row, hasId: record.user_id !== undefined, isOld };
}

interface UniqueKeys {
  user_id: string;
  username_key: string;
  username_skeleton: string;
  email_key: string;
  avatar: string | null;
}

/**
 * The unique keys of the users that a batch may conflict with, and who has each of them. Checked before the insert,
 * because a violated constraint can abort the transaction.
 */
class ExistingUsers {
  readonly #ids = new Set<string>();
  readonly #usernameKeys = new Map<string, string>();
  readonly #skeletons = new Map<string, string>();
  readonly #emailKeys = new Map<string, string>();
  readonly #avatars = new Map<string, string>();

  constructor(users: readonly UniqueKeys[]) {
    for (const user of users) this.add(user, `user ${user.user_id}`);
  }

  add(user: UniqueKeys, owner: string): void {
    const { user_id, username_key, username_skeleton, email_key, avatar } = user;
    this.#ids.add(user_id);
    this.#usernameKeys.set(username_key, owner);
    this.#skeletons.set(username_skeleton, owner);
    // A skeleton with a user id still takes the skeleton itself, see `distinctSkeleton`.
    const plainSkeleton = username_skeleton.replace(/#.*/, '');
    if (!this.#skeletons.has(plainSkeleton)) this.#skeletons.set(plainSkeleton, owner);
    this.#emailKeys.set(email_key, owner);
    if (avatar !== null) this.#avatars.set(avatar, owner);
  }

  hasId(userId: string): boolean {
    return this.#ids.has(userId);
  }

  hasEmail(emailKey: string): boolean {
    return this.#emailKeys.has(emailKey);
  }

  hasSkeleton(skeleton: string): boolean {
    return this.#skeletons.has(skeleton);
  }

  /** @throws BadLineError if another user has one of the keys */
  assertNoConflict({ username_key, username_skeleton, email_key, avatar }: UniqueKeys): void {
    const conflicts = [
      ['has the username of', this.#usernameKeys.get(username_key)],
      ['has a username that looks like that of', this.#skeletons.get(username_skeleton)],
      ['has the email address of', this.#emailKeys.get(email_key)],
      ['has the picture of', this.#avatars.get(avatar ?? '')],
    ] as const;
    for (const [problem, owner] of conflicts) {
      if (owner !== undefined) throw new BadLineError(`${problem} ${owner}`);
    }
  }
}
