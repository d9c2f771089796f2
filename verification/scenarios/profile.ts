import bios from '../vectors/bios.json' with { type: 'json' };
import reservedUsernames from '../vectors/reserved-usernames.json' with { type: 'json' };
import usernames from '../vectors/usernames.json' with { type: 'json' };
import {
  createConversation,
  createSpace,
  join,
  reread,
  type Space,
  type Stats,
  send,
  statsOf,
} from './actions.ts';
import { jpeg, png } from './avatars.ts';
import type { User } from './caller.ts';
import { equal, require } from './expectations.ts';
import type { Scenario, Stage } from './scenario.ts';

/** Returns everything that shows the name and avatar of a user, as another user sees it. */
async function appearancesOf(user: User, reader: User, word: string) {
  const space = await createSpace(user, { title: word, tags: [word] });
  const { space_id } = space;
  const { message_id } = await send(user, space);
  const own = await reader.call('getUser', { user_id: user.id });
  return async () => {
    const participants = (await reader.call('listParticipants', { space_id })).items;
    return {
      getUser: await reader.call('getUser', { user_id: own.user_id }),
      getSpace: (await reread(reader, space)).creator,
      getMessage: (await reader.call('getMessage', { message_id })).author,
      listMessages: (await reader.call('listMessages', { space_id })).items[0]?.author,
      listParticipants: participants[0]?.user,
      searchSpaces: (await reader.call('searchSpaces', { q: word }))[0]?.creator,
      searchSpacesByTag: (await reader.call('searchSpacesByTag', { tag: word }))[0]?.creator,
      listSpaces: (await reader.call('listSpaces', { q: word })).items[0]?.creator,
      listUserSpaces: (await reader.call('listUserSpaces', { user_id: user.id })).items[0]?.creator,
      getProfile: await user.call('getProfile'),
    };
  };
}

/** Requires that the URL serves a WebP file. Returns its width and height. */
async function readAvatar({ anonymous }: Stage, url: string): Promise<number[]> {
  const { status, headers, bytes } = await anonymous.fetchFile(url);
  equal(status, 200, `Status of the avatar ${url}`);
  equal(headers.get('content-type'), 'image/webp', 'Content-Type of the avatar');
  equal(
    bytes.toString('latin1', 0, 4) + bytes.toString('latin1', 8, 12),
    'RIFFWEBP',
    'Signature of the avatar',
  );
  return sizeOfWebp(bytes);
}

/** Returns width and height of a WebP file in any of its three formats. */
function sizeOfWebp(bytes: Buffer): number[] {
  const format = bytes.toString('latin1', 12, 16);
  if (format === 'VP8X') return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
  if (format === 'VP8L') {
    const bits = bytes.readUInt32LE(21);
    return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1];
  }
  return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
}

export const profile: Scenario[] = [
  {
    operation: 'getProfile',
    sentence: 'the statistics equal a recount after each change',
    rule: 'Contribution statistics, computed at request time. Deleted content does not count.',
    async run({ newcomer, users }) {
      const ada = await newcomer();
      const [grace, noor] = (await users(2)) as [User, User];
      const expected: Stats = {
        spaces_created: 0,
        spaces_participated: 0,
        total_words_contributed: 0,
        total_appreciations_received: 0,
      };
      const expectStats = async (change: string, difference: Partial<Stats>) => {
        for (const [name, by] of Object.entries(difference)) expected[name as keyof Stats] += by;
        equal(await statsOf(ada), expected, `Statistics after ${change}`);
      };
      const own = await createSpace(ada);
      await expectStats('createSpace', { spaces_created: 1 });
      const hidden = await createSpace(ada, { visibility: 'private' });
      await expectStats('createSpace', { spaces_created: 1 });
      const first = await send(ada, own, 'One two three.');
      await expectStats('a message', { spaces_participated: 1, total_words_contributed: 3 });
      const second = await send(ada, own, "It's four.");
      await expectStats('a second message', { total_words_contributed: 2 });
      const ofOther = await createSpace(grace);
      await join(ofOther, ada);
      await expectStats('joinSpace', {});
      const third = await send(ada, ofOther, 'word');
      await expectStats('a message in it', { spaces_participated: 1, total_words_contributed: 1 });
      const { message_id } = second;
      await grace.call('appreciateMessage', { message_id });
      await noor.call('appreciateMessage', { message_id });
      await grace.call('appreciateMessage', { message_id: third.message_id });
      await expectStats('three appreciations', { total_appreciations_received: 3 });
      await noor.call('withdrawAppreciation', { message_id });
      await expectStats('withdrawAppreciation', { total_appreciations_received: -1 });
      await ada.call('deleteMessage', { message_id });
      await expectStats('deleteMessage', {
        total_words_contributed: -2,
        total_appreciations_received: -1,
      });
      await ada.call('leaveSpace', { space_id: ofOther.space_id });
      await expectStats('leaveSpace', {});
      await ada.call('deleteMessage', { message_id: first.message_id });
      await expectStats('deleteMessage', { spaces_participated: -1, total_words_contributed: -3 });
      await grace.call('deleteSpace', { space_id: ofOther.space_id });
      await expectStats('deleteSpace of another user', {
        spaces_participated: -1,
        total_words_contributed: -1,
        total_appreciations_received: -1,
      });
      await ada.call('deleteSpace', { space_id: hidden.space_id });
      await expectStats('deleteSpace', { spaces_created: -1 });
    },
  },
  {
    operation: 'getProfile',
    sentence: 'messages of a user who was removed still count',
    rule: "The user's messages stay in the space and\nstill count in the user's statistics.",
    async run({ users }) {
      const [ada, creator] = (await users(2)) as [User, User];
      const { total_appreciations_received } = await statsOf(ada);
      const { space, messages } = await createConversation(creator, 'private', ada);
      await creator.call('appreciateMessage', { message_id: messages[1]?.message_id });
      const before = await statsOf(ada);
      await creator.call('removeParticipant', { space_id: space.space_id, user_id: ada.id });
      equal(await statsOf(ada), before, 'Statistics of the removed user');
      const expected = total_appreciations_received + 1;
      equal(before.total_appreciations_received, expected, 'total_appreciations_received');
    },
  },
  {
    operation: 'changeUsername',
    sentence: 'the new username appears everywhere, and the old one becomes free',
    rule: "Changes the caller's username. The new username appears everywhere immediately.",
    async run({ newcomer, user, word }) {
      const [ada, reader] = [await newcomer(), await user()];
      const appearances = await appearancesOf(ada, reader, word());
      const username = word().slice(0, 20);
      const before = await ada.call('getProfile');
      await ada.call('changeUsername', { username });
      for (const [place, shown] of Object.entries(await appearances())) {
        equal(shown?.username, username, `Username in ${place}`);
      }
      const after = await ada.call('getProfile');
      require(after.updated_at > before.updated_at, 'updated_at has not increased');
      equal(
        [after.created_at, after.user_id, after.email],
        [before.created_at, before.user_id, before.email],
        'created_at, user_id and email',
      );
      const other = await newcomer();
      await other.call('changeUsername', { username: before.username });
    },
  },
  {
    operation: 'changeUsername',
    sentence: 'a taken or reserved username is refused, except as another spelling of the own one',
    rule: 'Callers can change the capitalisation of their own username.',
    async run({ newcomer, user }) {
      const [ada, other] = [await newcomer(), await user()];
      const { username } = ada.account;
      const taken = other.account.username;
      const refuse = (name: string, code: string) =>
        ada.refused('changeUsername', { username: name }, code);
      await refuse(taken, 'username_taken');
      await refuse(taken.toUpperCase(), 'username_taken');
      await refuse('admin', 'username_reserved');
      equal((await ada.call('getProfile')).username, username, 'Username after refused changes');
      await ada.call('changeUsername', { username: username.toUpperCase() });
      equal((await ada.call('getProfile')).username, username.toUpperCase(), 'Username');
    },
  },
  {
    operation: 'changeUsername',
    sentence: 'accepts the valid usernames of the test vectors in NFC, and no others',
    rule: 'Usernames are stored in NFC.',
    async run({ newcomer }) {
      const ada = await newcomer();
      for (const { username, valid, stored } of usernames.cases) {
        if (!valid) {
          await ada.refused('changeUsername', { username }, [
            'username_invalid',
            'invalid_request',
          ]);
          continue;
        }
        const { status } = await ada.exchange('changeUsername', { username });
        // Another account can have a valid username.
        if (status === 409) continue;
        equal(status, 200, `Status for the valid username ${username}`);
        equal((await ada.call('getProfile')).username, stored, 'Username');
      }
    },
  },
  {
    operation: 'changeUsername',
    sentence: 'refuses the reserved usernames of the test vectors, and no others',
    rule: 'The username belongs to another account, looks like one that does, or is reserved.',
    async run({ newcomer }) {
      const ada = await newcomer();
      for (const { username, reserved } of reservedUsernames.cases) {
        const { status, body } = await ada.exchange('changeUsername', { username });
        const { code } = body as { code?: string };
        equal(code === 'username_reserved', reserved, `Whether ${username} is reserved`);
        if (!reserved) require([200, 409].includes(status), `Status ${status} for ${username}`);
      }
    },
  },
  {
    operation: 'changeBio',
    sentence: 'everyone signed in reads the new bio, and an empty one clears it',
    rule: "Replaces the caller's bio. An empty string clears it.",
    async run({ users }) {
      const [ada, reader] = (await users(2)) as [User, User];
      let { updated_at } = await ada.call('getProfile');
      for (const [bio, stored] of [
        ['Bakes on Sundays.', 'Bakes on Sundays.'],
        [' two\r\nlines ', ' two\nlines '],
        ['', ''],
      ] as const) {
        await ada.call('changeBio', { bio });
        const profile = await ada.call('getProfile');
        equal(profile.bio, stored, 'Bio in getProfile');
        equal((await reader.call('getUser', { user_id: ada.id })).bio, stored, 'Bio in getUser');
        require(profile.updated_at > updated_at, 'updated_at has not increased');
        updated_at = profile.updated_at;
      }
    },
  },
  {
    operation: 'changeBio',
    sentence: 'accepts the valid bios of the test vectors, and no others',
    rule: 'At most 500 characters (grapheme clusters) and 2,000 code points; no control characters except line breaks',
    async run({ user }) {
      const ada = await user();
      for (const { bio, valid } of bios.cases) {
        if (valid) await ada.call('changeBio', { bio });
        else await ada.refused('changeBio', { bio }, ['bio_invalid', 'invalid_request']);
      }
    },
  },
  {
    operation: 'changeProfilePicture',
    sentence:
      'the new avatar is served at the returned URL, appears everywhere, and replaces the old one',
    rule: 'It has a new URL, and the old URL stops working.',
    async run(stage) {
      const { users, word } = stage;
      const [ada, reader] = (await users(2)) as [User, User];
      await ada.call('removeProfilePicture');
      const appearances = await appearancesOf(ada, reader, word());
      const { profile_picture: initial, updated_at } = await ada.call('getProfile');
      await readAvatar(stage, initial);
      const { profile_picture: first } = await ada.call('changeProfilePicture', { avatar: png() });
      equal(await readAvatar(stage, first), [512, 512], 'Size of an avatar');
      const profile = await ada.call('getProfile');
      require(profile.updated_at > updated_at, 'updated_at has not increased');
      const { profile_picture } = await ada.call('changeProfilePicture', { avatar: jpeg });
      require(profile_picture !== first, 'The new avatar has the URL of the old one');
      equal(await readAvatar(stage, profile_picture), [512, 512], 'Size of an avatar');
      equal((await stage.anonymous.fetchFile(first)).status, 404, 'Status of the old avatar');
      for (const [place, shown] of Object.entries(await appearances())) {
        equal(shown?.profile_picture, profile_picture, `Avatar in ${place}`);
      }
      const removed = await ada.call('removeProfilePicture');
      equal(removed.profile_picture, initial, 'URL of the default avatar');
      equal(
        (await stage.anonymous.fetchFile(profile_picture)).status,
        404,
        'Status of the removed avatar',
      );
      for (const [place, shown] of Object.entries(await appearances())) {
        equal(shown?.profile_picture, initial, `Avatar in ${place} after its removal`);
      }
    },
  },
  {
    operation: 'removeProfilePicture',
    sentence: 'has no effect if the avatar already is the default',
    rule: "Replaces the caller's avatar with the default avatar. Has no effect if it already is the default.",
    async run({ newcomer }) {
      const ada = await newcomer();
      const before = await ada.call('getProfile');
      const { profile_picture } = await ada.call('removeProfilePicture');
      equal(profile_picture, before.profile_picture, 'profile_picture');
      equal((await ada.call('getProfile')).profile_picture, profile_picture, 'profile_picture');
    },
  },
  {
    operation: 'changeProfilePicture',
    sentence: 'an avatar can be revalidated, read in part, and is never changed',
    rule: '`GET` and `HEAD` support\n`Range`, `If-None-Match`, `If-Modified-Since`, `If-Match` and `If-Unmodified-Since`',
    async run({ user, anonymous }) {
      const ada = await user();
      const { profile_picture } = await ada.call('changeProfilePicture', { avatar: png() });
      const whole = await anonymous.fetchFile(profile_picture);
      const etag = whole.headers.get('etag') ?? '';
      const read = (headers: Record<string, string>) =>
        anonymous.fetchFile(profile_picture, headers);
      equal((await read({ 'if-none-match': etag })).status, 304, 'Status with If-None-Match');
      equal((await read({ 'if-match': '"other"' })).status, 412, 'Status with If-Match');
      const part = await read({ range: 'bytes=4-11' });
      equal(part.status, 206, 'Status with Range');
      equal(part.bytes.toString('hex'), whole.bytes.toString('hex', 4, 12), 'Bytes 4 to 11');
      equal((await read({ range: 'bytes=99999999-' })).status, 416, 'Status with a Range outside');
    },
  },
  {
    operation: 'changeProfilePicture',
    sentence: 'what is no image, damaged or too large leaves the avatar as it is',
    rule: 'The type is detected from the file content.',
    async run({ user }) {
      const ada = await user();
      const { profile_picture } = await ada.call('changeProfilePicture', { avatar: png() });
      const refuse = (avatar: Uint8Array | undefined, codes: string | string[]) =>
        ada.refused('changeProfilePicture', { avatar }, codes);
      await refuse(Buffer.from('This is text.'), 'avatar_type_unsupported');
      await refuse(
        Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
        'avatar_type_unsupported',
      );
      await refuse(png().subarray(0, -40), 'avatar_undecodable');
      await refuse(new Uint8Array(0), 'avatar_missing');
      await refuse(png(5_242_881), 'avatar_too_large');
      const form = new FormData();
      form.set('other', new Blob([png()]), 'a.png');
      await ada.refused('changeProfilePicture', {}, 'avatar_missing', { body: form });
      equal((await ada.call('getProfile')).profile_picture, profile_picture, 'profile_picture');
      await ada.call('changeProfilePicture', { avatar: png(5_242_880) });
    },
  },
  {
    operation: 'deleteAccount',
    sentence:
      'nothing of the account is left, others keep what is theirs, and name and address are free',
    rule: "This also deletes the account's sessions, messages, participations, reports, blocks and avatar, the\nappreciations it gave and received, the spaces it created with all their messages, and the reports about\nany of these.",
    async run(stage) {
      const { newcomer, signIn, anonymous, word } = stage;
      const [ada, grace] = [await newcomer(), await newcomer()];
      const second = await signIn(ada);
      const title = word();
      const own = await createSpace(ada, { title, tags: [title] });
      await join(own, grace);
      const inOwn = await send(grace, own, 'two words');
      const other = await createSpace(grace);
      await join(other, ada);
      const { message_id: sent } = await send(ada, other);
      const kept = await send(grace, other, 'three more words');
      await ada.call('appreciateMessage', { message_id: kept.message_id });
      const { profile_picture } = await ada.call('changeProfilePicture', { avatar: png() });
      await ada.call('deleteAccount');

      for (const session of [ada, second])
        await session.refused('getProfile', {}, 'unauthenticated');
      const { email, password, username } = ada.account;
      await anonymous.refused('login', { email, password }, 'credentials_incorrect');
      await grace.refused('getUser', { user_id: ada.id }, 'user_not_found');
      await grace.refused('listUserSpaces', { user_id: ada.id }, 'user_not_found');
      await anonymous.refused('getSpace', { space_id: own.space_id }, 'space_not_found');
      await grace.refused('getMessage', { message_id: sent }, 'message_not_found');
      await grace.refused('getMessage', { message_id: inOwn.message_id }, 'message_not_found');
      equal(await anonymous.call('searchSpaces', { q: title }), [], 'Found spaces');
      equal(await anonymous.call('searchSpacesByTag', { tag: title }), [], 'Spaces with the tag');
      equal((await anonymous.call('listTags', { prefix: title.slice(0, 30) })).items, [], 'Tags');
      const { items } = await grace.call('listMessages', { space_id: other.space_id });
      equal(
        items.map((each) => [each.message_id, each.appreciation_count]),
        [[kept.message_id, 0]],
        'Messages of the other space with their appreciation_count',
      );
      equal((await reread(grace, other)).participant_count, 1, 'participant_count');
      equal(
        (await grace.call('listParticipants', { space_id: other.space_id })).items.map(
          ({ user }) => user.user_id,
        ),
        [grace.id],
        'Participants',
      );
      equal(
        (await grace.call('listParticipations')).items.length,
        1,
        'Participations of the other user',
      );
      equal(
        await statsOf(grace),
        {
          spaces_created: 1,
          spaces_participated: 1,
          total_words_contributed: 3,
          total_appreciations_received: 0,
        },
        'Statistics of the other user',
      );
      equal((await anonymous.fetchFile(profile_picture)).status, 404, 'Status of the avatar');
      const session = await anonymous.call('register', { username, email, password });
      require(session.user_id !== ada.id, 'A new account has the user_id of the deleted one');
      await ada.withToken(session.access_token).call('deleteAccount');
    },
  },
  {
    operation: 'downloadAccountData',
    sentence: 'contains everything of the caller, and nothing of others',
    rule: 'Returns everything that the service stores about the caller as one document',
    async run({ newcomer, user }) {
      const [ada, other] = [await newcomer(), await user()];
      const own = await createSpace(ada, { tags: ['b', 'a'], visibility: 'private' });
      const { space, messages } = await createConversation(other, 'public', ada);
      const [ofOther, ofAda] = messages.map(({ message_id }) => message_id) as [string, string];
      await ada.call('appreciateMessage', { message_id: ofOther });
      await other.call('appreciateMessage', { message_id: ofAda });
      await ada.call('markRead', { space_id: space.space_id, message_id: ofOther });
      await ada.call('reportMessage', { message_id: ofOther, reason: 'A report.' });
      await ada.call('reportUser', { user_id: other.id, reason: 'Another report.' });
      const block = await ada.call('blockUser', { user_id: other.id });
      await ada.call('leaveSpace', { space_id: space.space_id });
      await ada.call('changeBio', { bio: 'A bio.' });
      const data = await ada.call('downloadAccountData');
      equal(data.account, await ada.call('getProfile'), 'account');
      equal(data.sessions, (await ada.call('listSessions')).items, 'sessions');
      equal(data.spaces, [await reread(ada, own)], 'spaces');
      equal(
        data.messages.map((each) => [
          each.message_id,
          each.space_id,
          each.text,
          each.word_count,
          each.appreciation_count,
        ]),
        [[ofAda, space.space_id, messages[1]?.text, 2, 1]],
        'messages',
      );
      equal(
        data.appreciations.map(({ message_id }) => message_id),
        [ofOther],
        'appreciations',
      );
      equal(
        data.reports.map(({ created_at: _, ...report }) => report),
        [
          { space_id: null, message_id: ofOther, user_id: null, reason: 'A report.' },
          { space_id: null, message_id: null, user_id: other.id, reason: 'Another report.' },
        ],
        'reports',
      );
      equal(data.blocks, [block], 'blocks');
      const participations = new Map(data.participations.map((each) => [each.space_id, each]));
      equal(
        [...participations.keys()].sort(),
        [own.space_id, space.space_id].sort(),
        'participations',
      );
      const left = participations.get(space.space_id);
      require(left?.left_at !== null, 'left_at is null after leaveSpace');
      equal(left?.removed_at, null, 'removed_at');
      equal(left?.read_until, messages[0]?.created_at, 'read_until');
      equal(participations.get(own.space_id)?.left_at, null, 'left_at of a current participant');
      await other.call('removeParticipant', { space_id: space.space_id, user_id: ada.id });
      const again = (await ada.call('downloadAccountData')).participations;
      require(again.find((each) => each.space_id === space.space_id)?.removed_at !==
        null, 'removed_at is null after removeParticipant');
    },
  },
  {
    operation: 'downloadAccountData',
    sentence: 'contains all messages of an account with many of them',
    rule: 'Returns everything that the service stores about the caller as one document',
    async run({ newcomer }) {
      const ada = await newcomer();
      const ids: string[] = [];
      const spaces = [await createSpace(ada), await createSpace(ada)];
      for (let i = 0; i < 55; i += 5) {
        // Several at once, for servers that are far away. Texts of one and two words, because an order can depend on it.
        const texts = ['one', 'two words', 'one', 'two words', 'one'];
        const sent = await Promise.all(
          texts.map((text, j) => send(ada, spaces[j % 2] as Space, text)),
        );
        ids.push(...sent.map(({ message_id }) => message_id));
      }
      const { messages } = await ada.call('downloadAccountData');
      equal(messages.map(({ message_id }) => message_id).sort(), ids.sort(), 'The messages');
    },
  },
];
