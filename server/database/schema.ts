import type { ColumnType, Generated } from 'kysely';

/**
 * The tables, which are the same in every database. Conventions:
 * - `pk` is a table's internal key and never leaves the server. `…_pk` columns refer to it.
 * - `user_id`, `space_id`, `message_id` and `tag_id` are the public ids of the API.
 * - Times are ISO 8601 text in UTC with milliseconds, so that their order is that of the text.
 * - `*_key` columns contain text folded by the server. SQL never folds.
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
  public_spaces: PublicSpaces;
  tag_hits: TagHits;
  dictionary: Dictionary;
  search_index: SearchIndex;
  spaces_to_index: SpacesToIndex;
  search_revision: SearchRevision;
  discarded_avatars: DiscardedAvatars;
  pending_purges: PendingPurges;
  secrets: Secrets;
}

export interface Users {
  pk: Generated<number>;
  user_id: string;
  username: string;
  username_key: string;
  username_skeleton: string;
  email: string;
  email_key: string;
  /** Argon2id in PHC form; null for an imported account without a password. */
  password_hash: string | null;
  bio: string;
  /** File name in the avatar store; null for the default avatar. */
  avatar: string | null;
  /** 0 or 1. */
  is_verified: number;
  created_at: string;
  /** When username, bio or avatar last changed. */
  updated_at: string;
}

interface Sessions {
  pk: Generated<number>;
  /** Hex SHA-256 of the access token. */
  token_hash: string;
  user_pk: number;
  created_at: string;
  last_used_at: string;
}

export interface Spaces {
  pk: Generated<number>;
  space_id: string;
  creator_pk: number;
  title: string;
  description: string;
  visibility: 'public' | 'private';
  /** Set for private spaces. */
  invitation_code: string | null;
  /** Number of participations that have not been left. Updated in the transaction that changes them. */
  participant_count: number;
  created_at: string;
}

export interface Participations {
  space_pk: number;
  user_pk: number;
  joined_at: string;
  left_at: string | null;
}

interface Tags {
  tag_id: Generated<number>;
  tag_key: string;
}

export interface SpaceTags {
  space_pk: number;
  tag_id: number;
  /** Position in the creator's order, from 0. */
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
}

export interface Appreciations {
  message_pk: number;
  user_pk: number;
  /** Copied from the message, so that an author's appreciations are counted from one index. */
  author_pk: number;
  created_at: string;
}

/** One row per public space, for search. */
export interface PublicSpaces {
  /** The order of every search: popular spaces first, then the newest. See `documentKey` in `search/documents.ts`. */
  key: number;
  space_pk: number;
  creator_pk: number;
  /** Copied from `spaces` by a trigger, so that results need no second look-up. */
  participant_count: number;
  /** The title's folded words. */
  title_key: string;
  /** The search result as JSON text, before the creator and after the participant count. See `search/results.ts`. */
  head: string;
  tail: string;
  /** The value of `search_revision` when the space was added, edited or last moved down in the order. */
  revision: number;
}

export interface TagHits {
  tag_id: number;
  key: number;
}

/** One row. See `search/dictionary/dictionary.ts`. */
interface Dictionary {
  version: number;
  /** The value of `search_revision` up to which the word index was read. */
  built_revision: number;
  spaces: number;
  min_documents: number;
  trie: Uint8Array;
}

/** Spaces that an import or an upgrade has not indexed yet. Empty between transactions. */
interface SpacesToIndex {
  space_pk: number;
  /** See `PublicSpaces.key`; null until all participants are counted. */
  key: number | null;
}

/** One row: the version of the rules by which the search index was built. */
interface SearchIndex {
  version: number;
}

/** One row. Triggers increase the value with every change to what searches can return. */
interface SearchRevision {
  value: ColumnType<number, never, never>;
}

/** Avatars that no user has any more, or that an upload has not yet claimed. Deleted once `remove_after` has passed. */
interface DiscardedAvatars {
  avatar: string;
  remove_after: string;
}

/** Deleted accounts whose traces in the index and the WAL are still to be overwritten. */
interface PendingPurges {
  id: ColumnType<number, never, never>;
  requested_at: string;
}

/** Random keys that all processes share, and no export contains. */
interface Secrets {
  name: 'cursor key';
  value: Uint8Array;
}
