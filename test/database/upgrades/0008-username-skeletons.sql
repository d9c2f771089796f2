INSERT INTO action_counts (user_pk, action, hour_began_at, hour_count, day_began_at, day_count) VALUES
(1, 'space', '2026-01-06T00:00:00.000Z', 2, '2026-01-06T00:00:00.000Z', 3);

INSERT INTO appreciations (message_pk, user_pk, author_pk, created_at) VALUES
(1, 2, 1, '2026-01-04T02:00:00.000Z'), (1, 3, 1, '2026-01-04T02:00:01.000Z');

DELETE FROM dictionary;
INSERT INTO dictionary (version, built_revision, spaces, min_documents, trie) VALUES
(1, 4, 2, 1, X'2A0000000B0000000B000000070000000700000007000000070000000B0000000B0000000B0000000B0000000F0000000F0000000F0000000F00000014000000140000001400000014000000140000001B00000017000000170000001B0000001B0000001B0000001B0000001C000000210000002100000021000000210000002100000023000000230000002500000025000000270000002700000029000000290000002A0000000000000000000000000000000000000000000000000000000100000000000000000000000000000001000000000000000000000001000000010000000000000000000000000000000000000002000000000000000000000001000000000000000000000000000000010000000100000000000000000000000000000000000000010000000000000001000000000000000100000000000000010000000000000001000000010000000F00000002000000020000000100000001000000010000000100000001000000010000000100000001000000020000000200000002000000010000000200000002000000020000000200000002000000020000000100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000000230033003700760076007600380076007600760061006400610073006200720065006100640063002B002B00720065006D0065007300770061006C006B0073006E3063651C4EAC4EAC4E6E306365696B696B');

INSERT INTO discarded_avatars (avatar, remove_after) VALUES
('old-avatar-name-000000.webp', '2026-01-06T00:00:00.000Z');

INSERT INTO erased_spaces (space_pk, key) VALUES
(99, NULL);

INSERT INTO erased_users (user_pk) VALUES
(99);

INSERT INTO messages (pk, message_id, space_pk, author_pk, text, word_count, created_at) VALUES
(1, 'm1', 1, 1, 'It''s 80 % hydration', 3, '2026-01-04T01:00:00.000Z'),
(2, 'm2', 1, 3, 'こんにちは', 1, '2026-01-04T01:00:01.000Z'), (3, 'm3', 2, 1, 'Which book?', 2, '2026-01-04T01:00:02.000Z');

INSERT INTO participations (space_pk, user_pk, joined_at, left_at, removed_at) VALUES
(1, 1, '2026-01-03T00:00:00.000Z', NULL, NULL), (1, 2, '2026-01-04T00:00:00.000Z', NULL, NULL),
(1, 3, '2026-01-04T00:00:01.000Z', '2026-01-05T00:00:00.000Z', '2026-01-05T00:00:00.000Z'),
(2, 1, '2026-01-04T00:00:02.000Z', NULL, NULL), (2, 2, '2026-01-03T00:00:01.000Z', NULL, NULL),
(3, 3, '2026-01-03T00:00:02.000Z', NULL, NULL);

INSERT INTO pending_purges (id, requested_at) VALUES
(1, '2026-01-06T00:00:00.000Z');

INSERT INTO public_spaces (key, space_pk, creator_pk, participant_count, title_key, head, tail, revision) VALUES
(163208757246, 1, 1, 2, 'adas bread', '{"space_id":"bread","title":"Ada''s \"Bread\"","description":"Crème & C++","visibility":"public","creator":', ',"tags":[{"tag_id":1,"tag_name":"Baking"},{"tag_id":2,"tag_name":"C++"}]}', 1),
(167503724540, 3, 3, 1, '东京の散歩', '{"space_id":"walks","title":"東京の散歩","description":"Bread walks","visibility":"public","creator":', ',"tags":[]}', 2);

INSERT INTO reports (pk, report_id, reporter_pk, space_pk, message_pk, reason, created_at) VALUES
(1, 'report', 2, 1, NULL, 'Off topic', '2026-01-06T00:00:00.000Z');

DELETE FROM search_index;
INSERT INTO search_index (version) VALUES
(1);

DELETE FROM secrets;
INSERT INTO secrets (name, value) VALUES
('cursor key', X'95C9167B1A835579E845519401CF8143D1A3E265AB1B266BE4AD3522CAC11C7E'),
('rate-limit key', X'BBCF2E8520AA6AD72887B9DBFC3D7DCD7023B325913C0DCFCC195B125ECC54FD');

INSERT INTO sessions (pk, session_id, token_hash, user_pk, created_at, last_used_at) VALUES
(1, 'ffd1a851-d75d-4515-8da2-04addb0f1bb1', 'af9e776d45f0278ab1e8170fda601d9625382bec5f584db29491b00d3939d52d', 1, '2026-11-22T09:34:16.562Z', '2026-11-22T09:34:16.562Z');

INSERT INTO space_tags (space_pk, tag_id, position, tag_name) VALUES
(1, 1, 0, 'Baking'), (1, 2, 1, 'C++'), (2, 1, 0, 'Baking');

INSERT INTO spaces (pk, space_id, creator_pk, title, description, visibility, invitation_code, participant_count, created_at) VALUES
(1, 'bread', 1, 'Ada''s "Bread"', 'Crème & C++', 'public', NULL, 2, '2026-01-03T00:00:00.000Z'),
(2, 'club', 2, 'Book club', '', 'private', 'club-invitation-0000000', 2, '2026-01-03T00:00:01.000Z'),
(3, 'walks', 3, '東京の散歩', 'Bread walks', 'public', NULL, 1, '2026-01-03T00:00:02.000Z'),
(99, 'erased:99', 99, 'Deleted', '', 'public', NULL, 0, '2026-01-06T00:00:00.000Z');

INSERT INTO spaces_to_index (space_pk, key) VALUES
(1, NULL);

INSERT INTO spaces_to_move (space_pk) VALUES
(1);

INSERT INTO tag_hits (tag_id, key) VALUES
(1, 163208757246), (2, 163208757246);

INSERT INTO tags (tag_id, tag_key) VALUES
(1, 'baking'), (2, 'c++');

INSERT INTO users (pk, user_id, username, username_key, username_skeleton, email, email_key, password_hash, bio, avatar, is_verified, created_at, updated_at, suspended_at) VALUES
(1, 'ada', 'Ada', 'ada', 'ada', 'Ada@example.com', 'ada@example.com', '$argon2id$v=19$m=19456,t=2,p=1$iEkbUREVyM3TC9l9N1QzGg$n86Tm6mJsJ8mu/3+suCezM33KKvpzoDSJtNyVMG243E', 'Likes "bread" and
it''s tea 🫖', 'ada-avatar-name-000000.webp', 1, '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z', NULL),
(2, 'bob', 'bob', 'bob', 'bob', 'bob@example.com', 'bob@example.com', '$argon2id$v=19$m=19456,t=2,p=1$iEkbUREVyM3TC9l9N1QzGg$n86Tm6mJsJ8mu/3+suCezM33KKvpzoDSJtNyVMG243E', '', 'bob-avatar-name-000000.webp', 0, '2026-01-01T00:00:01.000Z', '2026-01-01T00:00:01.000Z', NULL),
(3, 'sakura', 'さくら', 'さくら', 'さ❬ら', 'sakura@example.com', 'sakura@example.com', NULL, '', NULL, 0, '2026-01-01T00:00:02.000Z', '2026-01-01T00:00:02.000Z', NULL),
(4, 'mallory', 'mallory', 'mallory', 'rnallory', 'mallory@example.com', 'mallory@example.com', NULL, '', NULL, 0, '2026-01-01T00:00:03.000Z', '2026-01-01T00:00:03.000Z', '2026-01-02T00:00:00.000Z'),
(99, 'erased:99', '', 'erased:99', 'erased:99', '', 'erased:99', NULL, '', NULL, 0, '2026-01-06T00:00:00.000Z', '2026-01-06T00:00:00.000Z', NULL);

INSERT INTO word_index (rowid, words) VALUES
(163208757246, '#37vvv =ada =adas =bread =s ada adas bread c++ creme s'),
(167503724540, '#38vvv =の散 =东京 =京の =散歩 =歩 bread walks の散 东京 京の 散歩 歩');

UPDATE search_revision SET value = 4;
