import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL UNIQUE,
    username TEXT NOT NULL,
    username_key TEXT NOT NULL UNIQUE,
    username_skeleton TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    password_hash TEXT,
    bio TEXT NOT NULL,
    picture TEXT,
    is_verified INTEGER NOT NULL CHECK (is_verified IN (0, 1)),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
  ) STRICT`,
  'CREATE UNIQUE INDEX users_by_picture ON users (picture) WHERE picture IS NOT NULL',

  `CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token_hash TEXT NOT NULL UNIQUE,
    user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    last_used_at TEXT NOT NULL
  ) STRICT`,
  'CREATE INDEX sessions_by_user ON sessions (user)',
  'CREATE INDEX sessions_by_creation ON sessions (created_at)',
  'CREATE INDEX sessions_by_use ON sessions (last_used_at)',

  `CREATE TABLE spaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id TEXT NOT NULL UNIQUE,
    creator INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    visibility TEXT NOT NULL CHECK (visibility IN ('public', 'private')),
    invitation_code TEXT,
    participant_count INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    CHECK ((invitation_code IS NOT NULL) = (visibility = 'private'))
  ) STRICT`,
  'CREATE INDEX spaces_by_creator ON spaces (creator)',

  `CREATE TABLE participations (
    space INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
    user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    joined_at TEXT NOT NULL,
    left_at TEXT,
    PRIMARY KEY (space, user)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX participations_by_user ON participations (user, joined_at)',

  `CREATE TABLE tags (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tag_key TEXT NOT NULL UNIQUE
  ) STRICT`,

  `CREATE TABLE space_tags (
    space INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
    tag INTEGER NOT NULL REFERENCES tags,
    position INTEGER NOT NULL,
    tag_name TEXT NOT NULL,
    PRIMARY KEY (space, position)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX space_tags_by_tag ON space_tags (tag)',

  `CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id TEXT NOT NULL UNIQUE,
    space INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
    author INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    text TEXT NOT NULL,
    word_count INTEGER NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT`,
  'CREATE INDEX messages_by_space ON messages (space, created_at)',
  'CREATE INDEX messages_by_author ON messages (author, space, word_count)',

  `CREATE TABLE appreciations (
    message INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
    user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    author INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    PRIMARY KEY (message, user)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX appreciations_by_user ON appreciations (user)',
  'CREATE INDEX appreciations_by_author ON appreciations (author)',

  `CREATE TABLE public_spaces (
    key INTEGER PRIMARY KEY,
    space INTEGER NOT NULL UNIQUE REFERENCES spaces ON DELETE CASCADE,
    creator INTEGER NOT NULL,
    participant_count INTEGER NOT NULL,
    title_key TEXT NOT NULL,
    head TEXT NOT NULL,
    tail TEXT NOT NULL,
    revision INTEGER NOT NULL
  ) STRICT`,
  'CREATE INDEX public_spaces_by_title ON public_spaces (title_key, key)',

  `CREATE TABLE tag_hits (
    tag INTEGER NOT NULL REFERENCES tags,
    key INTEGER NOT NULL,
    PRIMARY KEY (tag, key)
  ) STRICT, WITHOUT ROWID`,

  // Contentless, with support for DELETE. Indexes all prefixes of up to 12 characters, plus the sign that marks words
  // of titles, so that searches for short and long prefixes cost the same. The server splits text into words, separated
  // by spaces.
  `CREATE VIRTUAL TABLE word_index USING fts5(
    words, content='', contentless_delete=1, detail=none, prefix='1 2 3 4 5 6 7 8 9 10 11 12 13',
    tokenize="ascii tokenchars '=+#.'"
  )`,
  ...[
    // An eighth of the default page size makes most queries of several words about twice as fast, because each look-up
    // of a document scans a page entry by entry. The index becomes 3 % larger.
    ['pgsz', 500],
    // Disabled, because merging a large index in a request could take seconds. Maintenance merges it in small steps.
    ['automerge', 0],
    // Without maintenance, a writer merges 256 segments of one level, because every transaction adds a segment and
    // 2,000 are the maximum.
    ['crisismerge', 256],
    ['deletemerge', 0],
  ].map(
    ([setting, value]) =>
      `INSERT INTO word_index (word_index, rank) VALUES ('${setting}', ${value})`,
  ),

  `CREATE TABLE known_words (
    id INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE,
    spaces INTEGER NOT NULL
  ) STRICT`,

  `CREATE TABLE known_word_deletions (
    deletion TEXT NOT NULL,
    word INTEGER NOT NULL,
    PRIMARY KEY (deletion, word)
  ) STRICT, WITHOUT ROWID`,

  `CREATE TABLE search_revision (
    value INTEGER NOT NULL
  ) STRICT`,
  'INSERT INTO search_revision VALUES (1)',
  // By triggers, so that every change of a search result increases the revision.
  ...[
    'INSERT ON public_spaces',
    'DELETE ON public_spaces',
    'UPDATE ON public_spaces',
    'UPDATE OF username, picture ON users',
  ].map(
    (change, i) => `CREATE TRIGGER search_revision_${i + 1} AFTER ${change}
    BEGIN UPDATE search_revision SET value = value + 1; END`,
  ),
  // A copy, so that search results do not need a join with `spaces`.
  `CREATE TRIGGER participant_count_of_results AFTER UPDATE OF participant_count ON spaces
    BEGIN UPDATE public_spaces SET participant_count = NEW.participant_count WHERE space = NEW.id; END`,

  `CREATE TABLE discarded_avatars (
    picture TEXT PRIMARY KEY,
    remove_after TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,

  `CREATE TABLE pending_purges (
    id INTEGER PRIMARY KEY,
    requested_at TEXT NOT NULL
  ) STRICT`,
];
