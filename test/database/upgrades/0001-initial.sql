INSERT INTO appreciations (message, user, author, created_at) VALUES
(1, 2, 1, '2026-01-04T02:00:00.000Z'), (1, 3, 1, '2026-01-04T02:00:01.000Z');

INSERT INTO discarded_avatars (picture, remove_after) VALUES
('old-avatar-name-000000.webp', '2026-01-06T00:00:00.000Z');

INSERT INTO known_word_deletions (deletion, word) VALUES
('aas', 4), ('ada', 4), ('adas', 4), ('ads', 4), ('alks', 1), ('bead', 3), ('brad', 3), ('brea', 3), ('bread', 3),
('bred', 3), ('ceme', 2), ('cree', 2), ('crem', 2), ('creme', 2), ('crme', 2), ('das', 4), ('read', 3), ('reme', 2),
('waks', 1), ('walk', 1), ('walks', 1), ('wals', 1), ('wlks', 1);

INSERT INTO known_words (id, word, spaces) VALUES
(1, 'walks', 1), (2, 'creme', 1), (3, 'bread', 2), (4, 'adas', 1);

INSERT INTO messages (id, message_id, space, author, text, word_count, created_at) VALUES
(1, 'm1', 1, 1, 'It''s 80 % hydration', 3, '2026-01-04T01:00:00.000Z'),
(2, 'm2', 1, 3, 'こんにちは', 1, '2026-01-04T01:00:01.000Z'), (3, 'm3', 2, 1, 'Which book?', 2, '2026-01-04T01:00:02.000Z');

INSERT INTO participations (space, user, joined_at, left_at) VALUES
(1, 1, '2026-01-03T00:00:00.000Z', NULL), (1, 2, '2026-01-04T00:00:00.000Z', NULL),
(1, 3, '2026-01-04T00:00:01.000Z', '2026-01-05T00:00:00.000Z'), (2, 1, '2026-01-04T00:00:02.000Z', NULL),
(2, 2, '2026-01-03T00:00:01.000Z', NULL), (3, 3, '2026-01-03T00:00:02.000Z', NULL);

INSERT INTO pending_purges (id, requested_at) VALUES
(1, '2026-01-06T00:00:00.000Z');

INSERT INTO public_spaces (key, space, creator, participant_count, title_key, head, tail, revision) VALUES
(163208757246, 1, 1, 2, 'adas bread', '{"space_id":"bread","title":"Ada''s \"Bread\"","description":"Crème & C++","visibility":"public","creator":', ',"tags":[{"tag_id":1,"tag_name":"Baking"},{"tag_id":2,"tag_name":"C++"}]}', 1),
(167503724540, 3, 3, 1, '東京の散歩', '{"space_id":"walks","title":"東京の散歩","description":"Bread walks","visibility":"public","creator":', ',"tags":[]}', 2);

INSERT INTO sessions (id, token_hash, user, created_at, last_used_at) VALUES
(1, 'b5ce9087d761fa2ed7038405b9c3e7e454ba7046e44ebf7bf87fdc624a456243', 1, '2026-11-22T01:15:29.930Z', '2026-11-22T01:15:29.930Z');

INSERT INTO space_tags (space, tag, position, tag_name) VALUES
(1, 1, 0, 'Baking'), (1, 2, 1, 'C++'), (2, 1, 0, 'Baking');

INSERT INTO spaces (id, space_id, creator, title, description, visibility, invitation_code, participant_count, created_at) VALUES
(1, 'bread', 1, 'Ada''s "Bread"', 'Crème & C++', 'public', NULL, 2, '2026-01-03T00:00:00.000Z'),
(2, 'club', 2, 'Book club', '', 'private', 'club-invitation', 2, '2026-01-03T00:00:01.000Z'),
(3, 'walks', 3, '東京の散歩', 'Bread walks', 'public', NULL, 1, '2026-01-03T00:00:02.000Z');

INSERT INTO tag_hits (tag, key) VALUES
(1, 163208757246), (2, 163208757246);

INSERT INTO tags (id, tag_key) VALUES
(1, 'baking'), (2, 'c++');

INSERT INTO users (id, user_id, username, username_key, username_skeleton, email, email_key, password_hash, bio, picture, is_verified, created_at, updated_at) VALUES
(1, 'ada', 'Ada', 'ada', 'ada', 'Ada@example.com', 'ada@example.com', '$argon2id$v=19$m=19456,t=2,p=1$iEkbUREVyM3TC9l9N1QzGg$n86Tm6mJsJ8mu/3+suCezM33KKvpzoDSJtNyVMG243E', 'Likes "bread" and
it''s tea 🫖', 'ada-avatar-name-000000.webp', 1, '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'),
(2, 'bob', 'bob', 'bob', 'bob', 'bob@example.com', 'bob@example.com', '$argon2id$v=19$m=19456,t=2,p=1$iEkbUREVyM3TC9l9N1QzGg$n86Tm6mJsJ8mu/3+suCezM33KKvpzoDSJtNyVMG243E', '', 'bob-avatar-name-000000.webp', 0, '2026-01-01T00:00:01.000Z', '2026-01-01T00:00:01.000Z'),
(3, 'sakura', 'さくら', 'さくら', 'さ❬ら', 'sakura@example.com', 'sakura@example.com', NULL, '', NULL, 0, '2026-01-01T00:00:02.000Z', '2026-01-01T00:00:02.000Z');

INSERT INTO word_index (rowid, words) VALUES
(163208757246, '=adas =bread =s adas bread c++ creme s'), (167503724540, '=の散 =京の =散歩 =東京 =歩 bread walks の散 京の 散歩 東京 歩');

UPDATE search_revision SET value = 3;
