-- The tables as the migrations create them. Do not edit: after a new migration, update this file with
--   npm test -- test/database/schema.test.ts --update

CREATE TABLE action_counts (
  user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  action TEXT NOT NULL,
  hour_began_at TEXT NOT NULL,
  hour_count INTEGER NOT NULL,
  day_began_at TEXT NOT NULL,
  day_count INTEGER NOT NULL,
  PRIMARY KEY (user_pk, action)
) STRICT, WITHOUT ROWID;

CREATE TABLE appreciations (
  message_pk INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
  user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  author_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  PRIMARY KEY (message_pk, user_pk)
) STRICT, WITHOUT ROWID;

CREATE INDEX appreciations_by_author ON appreciations (author_pk);

CREATE INDEX appreciations_by_message
  ON appreciations (message_pk, created_at, user_pk);

CREATE INDEX appreciations_by_user ON appreciations (user_pk);

CREATE TABLE blocks (
  user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  blocked_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  PRIMARY KEY (user_pk, blocked_pk)
) STRICT, WITHOUT ROWID;

CREATE INDEX blocks_by_blocked ON blocks (blocked_pk);

CREATE INDEX blocks_by_time ON blocks (user_pk, created_at, blocked_pk);

CREATE TABLE dictionary (
  version INTEGER NOT NULL,
  built_revision INTEGER NOT NULL,
  spaces INTEGER NOT NULL,
  min_documents INTEGER NOT NULL,
  trie BLOB NOT NULL
) STRICT;

CREATE TRIGGER search_revision_5 AFTER UPDATE OF version ON dictionary
  BEGIN UPDATE search_revision SET value = value + 1; END;

CREATE TABLE discarded_avatars (
  avatar TEXT PRIMARY KEY,
  remove_after TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ended_participations (
  user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  space_pk INTEGER NOT NULL,
  space_id TEXT,
  changed_in INTEGER NOT NULL,
  ended_at TEXT NOT NULL,
  PRIMARY KEY (user_pk, space_pk)
) STRICT, WITHOUT ROWID;

CREATE INDEX ended_participations_by_time ON ended_participations (ended_at);

CREATE TABLE erased_spaces (
  space_pk INTEGER PRIMARY KEY REFERENCES spaces ON DELETE CASCADE,
  key INTEGER
, space_id TEXT, changed_in INTEGER) STRICT;

CREATE INDEX erased_spaces_by_key ON erased_spaces (key) WHERE key IS NOT NULL;

CREATE TABLE erased_users (
  user_pk INTEGER PRIMARY KEY REFERENCES users ON DELETE CASCADE
) STRICT;

CREATE TABLE idempotency_keys (
  user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  key_hash TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  created_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (user_pk, key_hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_creation ON idempotency_keys (created_at);

CREATE TABLE indexed_messages (
  space_pk INTEGER PRIMARY KEY REFERENCES spaces ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  message_id TEXT NOT NULL
) STRICT;

CREATE TABLE last_transaction (number INTEGER NOT NULL, epoch TEXT NOT NULL) STRICT;

CREATE TABLE mail_tokens (
  token_hash TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  address TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX mail_tokens_by_time ON mail_tokens (expires_at);

CREATE INDEX mail_tokens_by_user ON mail_tokens (user_pk);

CREATE TABLE mails (
  pk INTEGER PRIMARY KEY AUTOINCREMENT,
  mail_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  user_pk INTEGER REFERENCES users ON DELETE CASCADE,
  address TEXT NOT NULL,
  language TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  send_after TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX mails_by_address ON mails (address);

CREATE INDEX mails_by_time ON mails (send_after);

CREATE INDEX mails_by_user ON mails (user_pk);

CREATE TABLE mentions (
  user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  space_pk INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  message_pk INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
  PRIMARY KEY (user_pk, space_pk, created_at, message_pk)
) STRICT, WITHOUT ROWID;

CREATE INDEX mentions_by_message ON mentions (message_pk);

CREATE TABLE message_changes (
  message_id TEXT PRIMARY KEY,
  space_pk INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
  changed_at TEXT NOT NULL
, changed_in INTEGER) STRICT, WITHOUT ROWID;

CREATE INDEX deletions_by_space ON message_changes (space_pk, changed_at) WHERE changed_in IS NOT NULL;

CREATE INDEX message_changes_by_space ON message_changes (space_pk, changed_at, message_id);

CREATE INDEX message_changes_by_time ON message_changes (changed_at);

CREATE TABLE message_index (examined_pk INTEGER NOT NULL) STRICT;

CREATE TABLE message_words (
  space_pk INTEGER NOT NULL,
  word TEXT NOT NULL,
  sent_ms INTEGER NOT NULL,
  PRIMARY KEY (space_pk, word, sent_ms)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  pk INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id TEXT NOT NULL UNIQUE,
  space_pk INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
  author_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  text TEXT NOT NULL,
  word_count INTEGER NOT NULL,
  created_at TEXT NOT NULL
, changed_in INTEGER, edited_at TEXT, reply_to_pk INTEGER) STRICT;

CREATE INDEX messages_by_author ON messages (author_pk, space_pk, word_count);

CREATE INDEX messages_by_space ON messages (space_pk, created_at, message_id, author_pk, changed_in);

CREATE TABLE participations (
  space_pk INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
  user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  joined_at TEXT NOT NULL,
  left_at TEXT, removed_at TEXT CHECK (removed_at IS NULL OR left_at IS NOT NULL), read_until TEXT, changed_in INTEGER, left_in INTEGER, is_moderator INTEGER NOT NULL DEFAULT 0
  CHECK (is_moderator = 0 OR is_moderator = 1 AND left_at IS NULL), is_muted INTEGER NOT NULL DEFAULT 0
  CHECK (is_muted IN (0, 1)), removed_by_pk INTEGER REFERENCES users ON DELETE SET NULL,
  PRIMARY KEY (space_pk, user_pk)
) STRICT, WITHOUT ROWID;

CREATE INDEX current_participations_by_user ON participations (user_pk, joined_at, space_pk, left_at, changed_in)
  WHERE left_at IS NULL;

CREATE INDEX moderators_by_space ON participations (space_pk)
  WHERE is_moderator = 1;

CREATE INDEX participations_by_space ON participations (space_pk, joined_at) WHERE left_at IS NULL;

CREATE INDEX participations_by_user ON participations (user_pk, joined_at);

CREATE INDEX past_participations_by_user ON participations (user_pk, left_in) WHERE left_in IS NOT NULL;

CREATE INDEX removals_by_remover ON participations (removed_by_pk)
  WHERE removed_by_pk IS NOT NULL;

CREATE INDEX removals_by_space ON participations (space_pk, removed_at) WHERE removed_at IS NOT NULL;

CREATE TABLE pending_purges (
  id INTEGER PRIMARY KEY,
  requested_at TEXT NOT NULL
, user_id_hash TEXT, due_at TEXT) STRICT;

CREATE TABLE public_spaces (
  key INTEGER PRIMARY KEY,
  space_pk INTEGER NOT NULL UNIQUE REFERENCES spaces ON DELETE CASCADE,
  creator_pk INTEGER NOT NULL,
  participant_count INTEGER NOT NULL,
  title_key TEXT NOT NULL,
  head TEXT NOT NULL,
  tail TEXT NOT NULL,
  revision INTEGER NOT NULL
) STRICT;

CREATE INDEX public_spaces_by_creator ON public_spaces (creator_pk, space_pk);

CREATE INDEX public_spaces_by_title ON public_spaces (title_key, key);

CREATE TRIGGER search_revision_1 AFTER INSERT ON public_spaces
  BEGIN UPDATE search_revision SET value = value + 1; END;

CREATE TRIGGER search_revision_2 AFTER DELETE ON public_spaces
  BEGIN UPDATE search_revision SET value = value + 1; END;

CREATE TRIGGER search_revision_3 AFTER UPDATE ON public_spaces
  BEGIN UPDATE search_revision SET value = value + 1; END;

CREATE TABLE reports (
  pk INTEGER PRIMARY KEY AUTOINCREMENT,
  report_id TEXT NOT NULL UNIQUE,
  reporter_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  space_pk INTEGER REFERENCES spaces ON DELETE CASCADE,
  message_pk INTEGER REFERENCES messages ON DELETE CASCADE,
  user_pk INTEGER REFERENCES users ON DELETE CASCADE,
  reason TEXT NOT NULL,
  created_at TEXT NOT NULL,
  CHECK ((space_pk IS NULL) <> (user_pk IS NULL)),
  CHECK (message_pk IS NULL OR space_pk IS NOT NULL)
) STRICT;

CREATE UNIQUE INDEX reports_by_message ON reports (message_pk, reporter_pk);

CREATE INDEX reports_by_reporter ON reports (reporter_pk);

CREATE UNIQUE INDEX reports_by_space ON reports (space_pk, reporter_pk) WHERE message_pk IS NULL;

CREATE UNIQUE INDEX reports_by_user ON reports (user_pk, reporter_pk);

CREATE INDEX reports_in_space ON reports (space_pk, pk);

CREATE TABLE search_index (version INTEGER NOT NULL) STRICT;

CREATE TABLE search_revision (
  value INTEGER NOT NULL
) STRICT;

CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  pk INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL UNIQUE,
  token_hash TEXT NOT NULL UNIQUE,
  user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL
, device_name TEXT, token_name TEXT, scopes TEXT, expires_at TEXT) STRICT;

CREATE INDEX sessions_by_creation ON sessions (created_at);

CREATE INDEX sessions_by_expiry ON sessions (expires_at)
  WHERE expires_at IS NOT NULL;

CREATE INDEX sessions_by_use ON sessions (last_used_at);

CREATE INDEX sessions_by_user ON sessions (user_pk, last_used_at);

CREATE TABLE space_tags (
  space_pk INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
  tag_id INTEGER NOT NULL REFERENCES tags,
  position INTEGER NOT NULL,
  tag_name TEXT NOT NULL,
  PRIMARY KEY (space_pk, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX space_tags_by_tag ON space_tags (tag_id);

CREATE TABLE spaces (
  pk INTEGER PRIMARY KEY AUTOINCREMENT,
  space_id TEXT NOT NULL UNIQUE,
  creator_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  visibility TEXT NOT NULL CHECK (visibility IN ('public', 'private')),
  invitation_code TEXT,
  participant_count INTEGER NOT NULL,
  created_at TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1, changed_in INTEGER, posting TEXT NOT NULL DEFAULT 'participants'
  CHECK (posting IN ('participants', 'moderators')),
  CHECK ((invitation_code IS NOT NULL) = (visibility = 'private'))
) STRICT;

CREATE TRIGGER participant_count_of_results AFTER UPDATE OF participant_count ON spaces
  BEGIN UPDATE public_spaces SET participant_count = NEW.participant_count WHERE space_pk = NEW.pk; END;

CREATE INDEX spaces_by_creator ON spaces (creator_pk);

CREATE TABLE spaces_to_index (
  space_pk INTEGER PRIMARY KEY,
  key INTEGER
) STRICT;

CREATE INDEX spaces_to_index_by_key ON spaces_to_index (key);

CREATE TABLE spaces_to_move (
  space_pk INTEGER PRIMARY KEY REFERENCES spaces ON DELETE CASCADE
) STRICT;

CREATE TABLE tag_counts (
  tag_id INTEGER PRIMARY KEY REFERENCES tags,
  space_count INTEGER NOT NULL
) STRICT;

CREATE TABLE tag_hits (
  tag_id INTEGER NOT NULL REFERENCES tags,
  key INTEGER NOT NULL,
  PRIMARY KEY (tag_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag_prefixes (
  prefix TEXT NOT NULL,
  space_count INTEGER NOT NULL,
  tag_id INTEGER NOT NULL,
  PRIMARY KEY (prefix, space_count, tag_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tags (
  tag_id INTEGER PRIMARY KEY AUTOINCREMENT,
  tag_key TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE users (
  pk INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL UNIQUE,
  username TEXT NOT NULL,
  username_key TEXT NOT NULL UNIQUE,
  username_skeleton TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE,
  password_hash TEXT,
  bio TEXT NOT NULL,
  avatar TEXT,
  is_verified INTEGER NOT NULL CHECK (is_verified IN (0, 1)),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
, suspended_at TEXT, changed_in INTEGER) STRICT;

CREATE TRIGGER search_revision_4 AFTER UPDATE OF username, avatar ON users
  BEGIN UPDATE search_revision SET value = value + 1; END;

CREATE UNIQUE INDEX users_by_avatar ON users (avatar) WHERE avatar IS NOT NULL;

CREATE INDEX users_by_change ON users (changed_in) WHERE changed_in IS NOT NULL;

CREATE VIRTUAL TABLE word_index USING fts5(
  words, content='', contentless_delete=1, detail=none, prefix='1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31',
  tokenize="ascii tokenchars '=+#.'"
);

CREATE VIRTUAL TABLE word_index_terms USING fts5vocab('word_index', 'row');

-- word_index: automerge = 0
-- word_index: crisismerge = 256
-- word_index: deletemerge = 0
-- word_index: pgsz = 500
-- word_index: version = 4
