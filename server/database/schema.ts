import type { ColumnType, Generated, InsertType, Kysely, RawBuilder, Transaction } from 'kysely';
import type { Action } from '../../generated/counted-operations.gen.ts';

/**
 * The tables. Conventions:
 * - `pk` is the internal key of a table and never leaves the server. `…_pk` columns refer to it.
 * - `user_id`, `space_id`, `message_id`, `tag_id` and `session_id` are the public ids of the API.
 * - Times are ISO 8601 text in UTC with milliseconds, so that they sort as text.
 * - `…_key` columns contain text folded by the server. SQL never folds.
 * - `changed_in` is the number of the transaction that last changed what lists of spaces show of the row, see
 *   `spaces/list-changes.ts`. Null if nothing has changed since the column exists.
 */
export interface Schema {
  users: Users;
  sessions: Sessions;
  spaces: Spaces;
  participations: Participations;
  tags: Tags;
  space_tags: SpaceTags;
  messages: Messages;
  appreciations: Appreciations;
  blocks: Blocks;
  mentions: Mentions;
  message_words: MessageWords;
  indexed_messages: IndexedMessages;
  message_index: MessageIndex;
  message_changes: MessageChanges;
  reports: Reports;
  public_spaces: PublicSpaces;
  tag_hits: TagHits;
  tag_counts: TagCounts;
  tag_prefixes: TagPrefixes;
  dictionary: Dictionary;
  search_index: SearchIndex;
  spaces_to_index: SpacesToIndex;
  search_revision: SearchRevision;
  discarded_avatars: DiscardedAvatars;
  pending_purges: PendingPurges;
  erased_users: ErasedUsers;
  erased_spaces: ErasedSpaces;
  spaces_to_move: SpacesToMove;
  ended_participations: EndedParticipations;
  last_transaction: LastTransaction;
  action_counts: ActionCounts;
  idempotency_keys: IdempotencyKeys;
  mails: Mails;
  mail_tokens: MailTokens;
  secrets: Secrets;
}

export type Database = Kysely<Schema>;
export type DatabaseTransaction = Transaction<Schema>;

/**
 * All columns of a new row, except generated ones. Unlike Kysely's `Insertable`, it requires nullable columns, so that
 * no insert forgets a new one.
 */
export type NewRow<Table extends keyof Schema> = {
  [Column in keyof Schema[Table] as undefined extends InsertType<Schema[Table][Column]>
    ? never
    : Column]: InsertType<Schema[Table][Column]>;
};

export interface Users {
  pk: Generated<number>;
  user_id: string;
  username: string;
  username_key: string;
  /** Usually `usernameSkeleton(username)`. See `distinctSkeleton` for the exception. */
  username_skeleton: string;
  email: string;
  email_key: string;
  /** Argon2 hash in PHC form, or an imported bcrypt hash until the next login; null for an imported account without a password. */
  password_hash: string | null;
  bio: string;
  /** File name in the avatar store; null for the default avatar. */
  avatar: string | null;
  /** 0 or 1. */
  is_verified: number;
  created_at: string;
  /** When username, bio or avatar last changed. */
  updated_at: string;
  /** Null for an account that is not suspended. A suspended account has no sessions, and its spaces are hidden. */
  suspended_at: string | null;
  /** Username, avatar and suspension. */
  changed_in: Generated<number | null>;
}

/** Columns without personal data. Deleting an account keeps their values. */
type RemainingColumn =
  | 'pk'
  | 'is_verified'
  | 'created_at'
  | 'updated_at'
  | 'suspended_at'
  | 'changed_in';

/** The columns that the deletion of an account overwrites at once. */
export type PersonalColumns = {
  [Column in Exclude<keyof Users, RemainingColumn>]: Users[Column] | RawBuilder<Users[Column]>;
};

interface Sessions {
  pk: Generated<number>;
  session_id: string;
  /** Hex SHA-256 of the access token. */
  token_hash: string;
  user_pk: number;
  created_at: string;
  last_used_at: string;
  /** Sent by the client that opened the session, if it did. */
  device_name: string | null;
  /** Null unless the session is the access token of a program, as are the next two columns. */
  token_name: string | null;
  /** Names separated by spaces. */
  scopes: string | null;
  /** Null if the access token does not expire. */
  expires_at: string | null;
}

export interface Spaces {
  pk: Generated<number>;
  space_id: string;
  creator_pk: number;
  title: string;
  description: string;
  visibility: 'public' | 'private';
  /** Who can write in it. */
  posting: 'participants' | 'moderators';
  /** Set for private spaces. */
  invitation_code: string | null;
  /** Number of participations without `left_at`. Updated in the transaction that changes them. */
  participant_count: number;
  created_at: string;
  /** Increases with every change of title, description, visibility, posting, tags or invitation code. */
  version: Generated<number>;
  changed_in: number | null;
}

export interface Participations {
  space_pk: number;
  user_pk: number;
  joined_at: string;
  left_at: string | null;
  /**
   * Set if the user was removed from the space, and then cannot join again. `left_at` is the same time, or earlier if
   * the user had already left.
   */
  removed_at: string | null;
  /** Who removed the user. Null if that is not known. No foreign key: the account can have been deleted. */
  removed_by_pk: number | null;
  /** The `created_at` of the latest message that the user has marked as read. Null for `joined_at`. */
  read_until: string | null;
  /** Not in an index, so that marking messages as read can update the row in place on PostgreSQL (HOT). */
  changed_in: number | null;
  /** The transaction that set `left_at`. Null for imported rows. */
  left_in: Generated<number | null>;
  /** 0 or 1. 0 for the creator, and after the user has left. */
  is_moderator: number;
  /** 0 or 1: whether unread messages are counted for the user. */
  is_muted: number;
}

interface Tags {
  tag_id: Generated<number>;
  tag_key: string;
}

interface SpaceTags {
  space_pk: number;
  tag_id: number;
  /** Index in the creator's list of tags, from 0. */
  position: number;
  /** The creator's spelling. */
  tag_name: string;
}

export interface Messages {
  pk: Generated<number>;
  message_id: string;
  space_pk: number;
  author_pk: number;
  text: string;
  word_count: number;
  created_at: string;
  /** Null if it is as it was sent. */
  edited_at: string | null;
  /**
   * The message that this one answers, null if it answers none. No foreign key: after the deletion of that message, its
   * key, which no other one gets, remains.
   */
  reply_to_pk: number | null;
  /** Set when it is sent or edited. */
  changed_in: number | null;
}

/** The words of messages. See `message-words/update.ts`. */
interface MessageWords {
  space_pk: number;
  word: string;
  /** The time of a message with the word, in milliseconds since 1970. */
  sent_ms: number;
}

/** One row per space whose messages are indexed: the last one, in the order of `listMessages`. */
interface IndexedMessages {
  space_pk: number;
  created_at: string;
  message_id: string;
}

/** One row. See `message-words/indexing.ts`. */
interface MessageIndex {
  /** The `pk` of the last message that has been examined. */
  examined_pk: number;
}

interface Appreciations {
  message_pk: number;
  user_pk: number;
  /** Copied from the message, so that one index counts the appreciations that an author received. */
  author_pk: number;
  created_at: string;
}

/** The users whom messages mention. */
interface Mentions {
  user_pk: number;
  /** Copied from the message, so that the primary key counts the unread ones in a space. */
  space_pk: number;
  created_at: string;
  message_pk: number;
}

/** Messages that were deleted, or whose text or appreciations changed, in the last days. See `messages/message-order.ts`. */
interface MessageChanges {
  message_id: string;
  space_pk: number;
  /** When it last changed. In the same order as the times of messages. */
  changed_at: string;
  /** Set when it is deleted. Null after other changes: `Messages.changed_in` tells lists of spaces of a new text. */
  changed_in: number | null;
}

/** Users who have blocked others. */
export interface Blocks {
  user_pk: number;
  blocked_pk: number;
  created_at: string;
}

/** The reports that the operator has not closed. Each is about a space, a message or a user. */
export interface Reports {
  pk: Generated<number>;
  report_id: string;
  reporter_pk: number;
  /** The reported space, or that of the reported message. */
  space_pk: number | null;
  message_pk: number | null;
  /** The reported user. */
  user_pk: number | null;
  reason: string;
  created_at: string;
}

/** One row per public space, for search. The spaces of suspended accounts have none. */
export interface PublicSpaces {
  /** The sort key of every search. See `documentKey` in `search/order.ts`. */
  key: number;
  space_pk: number;
  creator_pk: number;
  /** Copied from `spaces` by a trigger, so that results do not need that table. */
  participant_count: number;
  /** The folded words of the title, separated by spaces. */
  title_key: string;
  /** The parts of the search result as JSON text before the creator and after the participant count. */
  head: string;
  tail: string;
  /** The value of `search_revision` when the space was added, edited or last moved down in the search order. */
  revision: number;
}

/** One row per tag of a public space, for search. */
interface TagHits {
  tag_id: number;
  /** See `PublicSpaces.key`. */
  key: number;
}

/** One row per tag of public spaces. */
interface TagCounts {
  tag_id: number;
  /** Number of rows of `public_spaces` with the tag. */
  space_count: number;
}

/** One row per prefix of each tag in `TagCounts`. See `search/tag-counts.ts`. */
interface TagPrefixes {
  /** The first characters of `Tags.tag_key`. Every tag has the empty prefix. */
  prefix: string;
  /** Copied from `TagCounts`. */
  space_count: number;
  tag_id: number;
}

/** One row. See `search/dictionary/dictionary.ts`. */
interface Dictionary {
  version: number;
  /** The value of `search_revision` up to which it is current. */
  built_revision: number;
  spaces: number;
  min_documents: number;
  trie: Uint8Array;
}

/** The spaces that an import or an upgrade has yet to index. Empty between transactions. */
interface SpacesToIndex {
  space_pk: number;
  /** See `PublicSpaces.key`. Null until all participants are counted. */
  key: number | null;
}

/** One row: the `INDEX_VERSION` with which the search index was built. See `search/rebuild.ts`. */
interface SearchIndex {
  version: number;
}

/** One row. Triggers increase the value with every write that can change a search result. */
interface SearchRevision {
  value: ColumnType<number, never, never>;
}

/** Avatars to delete after `remove_after`: replaced avatars, and uploads that no user has yet. */
interface DiscardedAvatars {
  avatar: string;
  remove_after: string;
}

/**
 * Requests to overwrite deleted content in the database files, one for each deleted account. On PostgreSQL, only until
 * its hash is in the journal.
 */
interface PendingPurges {
  id: ColumnType<number, never, never>;
  requested_at: string;
  /** Of a deleted account, until it is in the journal. The copy of the search index lacks this column. */
  user_id_hash: Generated<string | null>;
  /** When unused space is overwritten at the latest; null for a purge at once that includes the search index. */
  due_at: Generated<string | null>;
}

/** Deleted accounts whose rows are still being erased. See `erased-rows.ts`. */
interface ErasedUsers {
  user_pk: number;
}

/** Deleted spaces whose rows are still being erased. See `erased-rows.ts`. */
interface ErasedSpaces {
  space_pk: number;
  /** The former `PublicSpaces.key`, until the space is removed from the word index. Null for private spaces. */
  key: number | null;
  /** The former `Spaces.space_id`. Null if the account of the creator has been deleted, too. */
  space_id: Generated<string | null>;
  changed_in: Generated<number | null>;
}

/**
 * Participations that the deletion of their space has erased, for some days, so that followers of lists learn of their
 * end. Only those that had not ended long before.
 */
interface EndedParticipations {
  user_pk: number;
  /** The former `Spaces.pk`. */
  space_pk: number;
  /** See `ErasedSpaces`. */
  space_id: string | null;
  changed_in: number;
  /** When the row was added. */
  ended_at: string;
}

/** Only in SQLite. One row. See `Engine.transactionNumber` and `Commits`. */
interface LastTransaction {
  number: ColumnType<number, never, never>;
  epoch: ColumnType<string, never, never>;
}

/** Spaces to move in the search order, because a deleted account participated in them. */
interface SpacesToMove {
  space_pk: number;
}

/** How often a user did something in the current hour and day. See `accounts/quotas.ts`. */
export interface ActionCounts {
  user_pk: number;
  action: Action;
  hour_began_at: string;
  hour_count: number;
  day_began_at: string;
  day_count: number;
}

/** Requests that must take effect once. See `accounts/idempotency-keys.ts`. */
interface IdempotencyKeys {
  user_pk: number;
  /** Hex SHA-256 of the key that the client has chosen. */
  key_hash: string;
  /** Hex SHA-256 of the key, the operation and the body. */
  request_hash: string;
  /** The public id of what the request created: a space or a message. */
  created_id: string;
  created_at: string;
}

/** Mail with a link to the front end. */
export type LinkKind = 'email-verification' | 'email-change' | 'password-reset';

/** Mail without a link, after something has changed. */
export type NoticeKind = 'email-change-requested' | 'email-changed' | 'password-changed';

/** Mail that waits to be sent. See `mail/outbox.ts`. */
export interface Mails {
  pk: Generated<number>;
  /** The first part of the Message-ID. */
  mail_id: string;
  kind: LinkKind | NoticeKind;
  /** Null for a password reset, which is written without looking up whether an account has the address. */
  user_pk: number | null;
  /** Folded for a password reset. */
  address: string;
  language: string;
  attempts: Generated<number>;
  /** When the next attempt may begin. A process that sends the mail sets it to the end of its lease. */
  send_after: string;
  created_at: string;
}

/** The tokens in links of mail that has been sent. See `mail/links.ts`. */
interface MailTokens {
  /** Hex SHA-256 of the token. */
  token_hash: string;
  kind: LinkKind;
  user_pk: number;
  /** The address that the mail was sent to. */
  address: string;
  expires_at: string;
}

/** Random keys, shared by all processes. Exports do not contain them. */
export interface Secrets {
  name: 'cursor key' | 'rate-limit key';
  value: Uint8Array;
}
