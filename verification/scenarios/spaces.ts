import {
  createConversation,
  createSpace,
  join,
  type Message,
  reread,
  type Space,
  send,
} from './actions.ts';
import { png } from './avatars.ts';
import type { User } from './caller.ts';
import { equal, require } from './expectations.ts';
import type { Scenario } from './scenario.ts';

const tagNames = ({ tags }: Pick<Space, 'tags'>) => tags.map(({ tag_name }) => tag_name);

/** Returns the space without what differs between callers. */
function commonPart({ invitation_code: _, participation: __, ...common }: Space): object {
  return common;
}

export const spaces: Scenario[] = [
  {
    operation: 'createSpace',
    sentence: 'everyone reads a new public space as it was created, and its creator participates',
    rule: 'The caller becomes its creator and first participant.',
    async run({ users, anonymous }) {
      const [ada, stranger] = (await users(2)) as [User, User];
      const fields = { title: 'A title', description: 'Two\nlines.', tags: ['b', 'A c'] };
      const space = await createSpace(ada, fields);
      equal(
        [space.title, space.description, tagNames(space)],
        Object.values(fields),
        'Title, description and tags',
      );
      equal(
        [space.visibility, space.invitation_code],
        ['public', null],
        'visibility and invitation_code',
      );
      equal(
        [space.creator.user_id, space.creator.username],
        [ada.id, ada.account.username],
        'creator',
      );
      equal(space.participant_count, 1, 'participant_count');
      equal(space.participation?.joined_at, space.created_at, 'participation.joined_at');
      equal(await reread(ada, space), space, 'The space as its creator reads it');
      for (const reader of [stranger, anonymous]) {
        equal(
          await reread(reader, space),
          { ...space, participation: null },
          'The space as others read it',
        );
      }
      const [newest] = (await ada.call('listParticipations')).items;
      equal(newest?.space, space, 'The newest participation');
    },
  },
  {
    operation: 'createSpace',
    sentence: 'texts and tags are stored in their normal form',
    rule: 'In tags, white\nspace and `#` at the beginning and white space at the end are removed, and inner white space becomes one space:',
    async run({ user }) {
      const ada = await user();
      const space = await createSpace(ada, {
        title: '\t  A title \n',
        description: '\n one\r\ntwo\rthree\n\n',
        tags: [' ##y ', 'a  b', 'Tea', 'tea', 'TÉA', 'c++', 'a/b'],
      });
      equal(space.title, 'A title', 'Title');
      equal(space.description, 'one\ntwo\nthree', 'Description');
      equal(tagNames(space), ['y', 'a b', 'Tea', 'c++', 'a/b'], 'Tags');
      equal(commonPart(await reread(ada, space)), commonPart(space), 'The space');
    },
  },
  {
    operation: 'createSpace',
    sentence:
      'only the creator of a private space reads its invitation code, and only participants read the space',
    rule: 'Code that users need to join a private space. `null` for public spaces, for callers other than the creator, and for access tokens of programs without the scope `moderate`.',
    async run({ users, anonymous, word }) {
      const [ada, participant, stranger] = (await users(3)) as [User, User, User];
      const title = word();
      const space = await createSpace(ada, { title, tags: [title], visibility: 'private' });
      const { space_id, invitation_code } = space;
      require(invitation_code !== null &&
        invitation_code.length >= 16, `The invitation code ${invitation_code} can be guessed`);
      equal(
        (await reread(ada, space)).invitation_code,
        invitation_code,
        'invitation_code for the creator',
      );
      const joined = await participant.call('joinSpace', { space_id, invitation_code });
      const seen = await reread(participant, space);
      equal(
        [seen.invitation_code, joined.space.invitation_code],
        [null, null],
        'invitation_code for a participant',
      );
      for (const reader of [stranger, anonymous])
        await reader.refused('getSpace', { space_id }, 'space_not_found');
      for (const reader of [ada, participant]) {
        equal(await reader.call('searchSpaces', { q: title }), [], 'Search results');
        equal(await reader.call('searchSpacesByTag', { tag: title }), [], 'Search results by tag');
        equal((await reader.call('listSpaces', { q: title })).items, [], 'Spaces of listSpaces');
        equal((await reader.call('listTags', { prefix: title })).items, [], 'Tags');
        const { items } = await reader.call('listUserSpaces', { user_id: ada.id });
        require(items.every(
          (each) => each.space_id !== space_id,
        ), 'listUserSpaces contains a private space');
      }
    },
  },
  {
    operation: 'createSpace',
    sentence:
      'one key creates one space, even at the same time and with the same key of another account',
    rule: 'Requests of the same caller with the same key take\neffect only once, whatever happens to the server in between',
    async run({ users, word }) {
      const [ada, other] = (await users(2)) as [User, User];
      const fields = { title: word(), description: '', visibility: 'public', tags: [] };
      const headers = { 'Idempotency-Key': word() };
      const together = await Promise.all(
        [1, 2, 3].map(() => ada.exchange('createSpace', fields, { headers })),
      );
      const created = together
        .filter(({ status }) => status === 201)
        .map(({ body }) => body as Space);
      for (const { status, body } of together) {
        if (status === 201) continue;
        equal(
          (body as { code: string }).code,
          'idempotency_key_in_use',
          'Code of a request at the same time',
        );
      }
      const repeated = await ada.call('createSpace', fields, { headers });
      created.push(repeated);
      equal(new Set(created.map(({ space_id }) => space_id)).size, 1, 'Number of created spaces');
      const { items } = await ada.call('listUserSpaces', { user_id: ada.id, limit: 100 });
      const own = items.filter(({ title }) => title === fields.title);
      equal(own.length, 1, 'Number of spaces of the caller');
      const quoted = { 'Idempotency-Key': `"${headers['Idempotency-Key']}"` };
      equal(
        (await ada.call('createSpace', fields, { headers: quoted })).space_id,
        repeated.space_id,
        'space_id',
      );
      await ada.refused('createSpace', { ...fields, title: 'Twice' }, 'idempotency_key_reused', {
        headers,
      });
      const { space_id } = repeated;
      await ada.refused('sendMessage', { space_id, text: 'x' }, 'idempotency_key_reused', {
        headers,
      });
      const ofOther = await other.call('createSpace', fields, { headers });
      require(ofOther.space_id !== space_id, 'Two accounts with the same key get the same space');
      await ada.call('updateSpace', { space_id, title: 'Later' });
      equal(
        (await ada.call('createSpace', fields, { headers })).title,
        'Later',
        'Title in a repetition',
      );
      await ada.call('deleteSpace', { space_id });
      await ada.refused('createSpace', fields, 'space_not_found', { headers });
      const another = { 'Idempotency-Key': word() };
      require((await ada.call('createSpace', fields, { headers: another })).space_id !==
        space_id, 'Another key repeats the space');
    },
  },
  {
    operation: 'createSpace',
    sentence: 'a refused request keeps no key',
    rule: 'A request with an error keeps no key, so it can be corrected and sent again with the same key.',
    async run({ user, word }) {
      const ada = await user();
      const headers = { 'Idempotency-Key': word() };
      const fields = { title: '', description: '', visibility: 'public', tags: [] };
      await ada.refused('createSpace', fields, 'invalid_request', { headers });
      await ada.call('createSpace', { ...fields, title: 'Corrected' }, { headers });
    },
  },
  {
    operation: 'getSpace',
    sentence: 'the ETag changes exactly when the response does',
    rule: 'It changes whenever the\nresponse of `getSpace` or `getMessage` to the caller would, also with new participants, appreciations or a new\navatar.',
    async run({ users }) {
      const [ada, other] = (await users(2)) as [User, User];
      const space = await createSpace(ada, { title: 'Before' });
      const { space_id } = space;
      const etagOf = async () =>
        (await other.exchange('getSpace', { space_id })).headers.get('etag') ?? '';
      const statusWith = async (etag: string) =>
        (await other.exchange('getSpace', { space_id }, { headers: { 'If-None-Match': etag } }))
          .status;
      const changes: (() => Promise<unknown>)[] = [
        () => ada.call('updateSpace', { space_id, title: 'After' }),
        () => ada.call('updateSpace', { space_id, description: 'Other' }),
        () => ada.call('updateSpace', { space_id, tags: ['new'] }),
        () => other.call('joinSpace', { space_id }),
        () => ada.call('changeProfilePicture', { avatar: png() }),
        () => other.call('leaveSpace', { space_id }),
      ];
      let etag = await etagOf();
      const seen = new Set([etag]);
      for (const change of changes) {
        equal(await statusWith(etag), 304, 'Status with the ETag of an unchanged space');
        equal(await statusWith(`"other", ${etag}`), 304, 'Status with the ETag in a list');
        equal(await etagOf(), etag, 'ETag of an unchanged space');
        await change();
        equal(await statusWith(etag), 200, 'Status with the ETag of a changed space');
        etag = await etagOf();
        require(!seen.has(etag), 'An ETag stands for two responses');
        seen.add(etag);
      }
      equal(await statusWith('*'), 304, 'Status with If-None-Match: *');
    },
  },
  {
    operation: 'updateSpace',
    sentence: 'changes the given fields, leaves the others, and everyone reads it',
    rule: 'Updates the fields in the request body and leaves the other fields unchanged. `tags` replaces all\ntags.',
    async run({ users, anonymous, word }) {
      const [ada, participant] = (await users(2)) as [User, User];
      const [first, second, tag] = [word(), word(), word()];
      const space = await createSpace(ada, {
        title: first,
        description: 'Old',
        tags: ['old', tag],
      });
      await join(space, participant);
      const { space_id } = space;
      const expected: Record<string, unknown> = {
        title: first,
        description: 'Old',
        tags: ['old', tag],
      };
      for (const change of [
        { title: second },
        { description: 'New' },
        { tags: ['new'] },
        { description: '' },
        { tags: [] },
      ]) {
        Object.assign(expected, change);
        const updated = await ada.call('updateSpace', { space_id, ...change });
        for (const read of [
          updated,
          await reread(ada, space),
          await reread(participant, space),
          await reread(anonymous, space),
        ]) {
          equal(
            { title: read.title, description: read.description, tags: tagNames(read) },
            expected,
            'Title, description and tags',
          );
          equal(
            [read.participant_count, read.created_at, read.visibility],
            [2, space.created_at, 'public'],
            'participant_count, created_at and visibility',
          );
        }
      }
      equal(
        (await anonymous.call('searchSpaces', { q: second })).map((each) => each.space_id),
        [space_id],
        'Spaces with the new title',
      );
      equal(
        await anonymous.call('searchSpaces', { q: first, as_typed: true }),
        [],
        'Spaces with the old title',
      );
      equal(await anonymous.call('searchSpacesByTag', { tag }), [], 'Spaces with the removed tag');
    },
  },
  {
    operation: 'updateSpace',
    sentence:
      'a space that becomes private disappears for others and gets a code, and loses it when public',
    rule: 'A space that becomes private gets a new invitation code. A space that becomes public loses its\ninvitation code.',
    async run({ users, anonymous, word }) {
      const [ada, participant, stranger] = (await users(3)) as [User, User, User];
      const title = word();
      const space = await createSpace(ada, { title, tags: [title] });
      await join(space, participant);
      const { space_id } = space;
      const codes = new Set<string | null>();
      const found = async () =>
        [
          ...(await anonymous.call('searchSpaces', { q: title })),
          ...(await anonymous.call('searchSpacesByTag', { tag: title })),
          ...(await stranger.call('listUserSpaces', { user_id: ada.id })).items.filter(
            (each) => each.space_id === space_id,
          ),
        ].length;
      for (let i = 0; i < 2; i += 1) {
        equal(await found(), 3, 'Number of lists with the public space');
        const hidden = await ada.call('updateSpace', { space_id, visibility: 'private' });
        require(hidden.invitation_code !== null, 'A private space has no invitation code');
        codes.add(hidden.invitation_code);
        await stranger.refused('getSpace', { space_id }, 'space_not_found');
        await reread(participant, space);
        equal(await found(), 0, 'Number of lists with the private space');
        const shown = await ada.call('updateSpace', { space_id, visibility: 'public' });
        equal(shown.invitation_code, null, 'invitation_code of a public space');
        await reread(stranger, space);
      }
      equal(codes.size, 2, 'Number of different invitation codes');
    },
  },
  {
    operation: 'updateSpace',
    sentence: 'a private space with messages of others cannot become public',
    rule: 'Returns 409 if a private space would become\npublic although other users have written messages in it',
    async run({ users }) {
      const [ada, participant] = (await users(2)) as [User, User];
      const { space, messages } = await createConversation(ada, 'private', participant);
      const { space_id } = space;
      const change = { space_id, visibility: 'public', title: 'Changed' };
      await ada.refused('updateSpace', change, 'space_cannot_become_public');
      equal(await reread(ada, space), { ...space, participant_count: 2 }, 'The space');
      await ada.call('deleteMessage', { message_id: messages[1]?.message_id });
      equal((await ada.call('updateSpace', change)).visibility, 'public', 'visibility');
    },
  },
  {
    operation: 'updateSpace',
    sentence: 'If-Match prevents the loss of a change',
    rule: 'The comparison is strong: the whole ETag\nmust be equal, and a weak ETag (`W/"…"`), which some proxies make of it, never matches.',
    async run({ users }) {
      const [ada, participant] = (await users(2)) as [User, User];
      const space = await createSpace(ada);
      const { space_id } = space;
      const etagOf = async () =>
        (await ada.exchange('getSpace', { space_id })).headers.get('etag') ?? '';
      const update = (title: string, etag: string) =>
        ada.exchange('updateSpace', { space_id, title }, { headers: { 'If-Match': etag } });
      const refuse = (etag: string) =>
        ada.refused('updateSpace', { space_id, title: 'Lost' }, 'precondition_failed', {
          headers: { 'If-Match': etag },
        });
      const first = await etagOf();
      const updated = await update('First', first);
      equal(updated.status, 200, 'Status with the current ETag');
      equal(updated.headers.get('etag'), await etagOf(), 'ETag of the update');
      await refuse(first);
      await refuse(`W/${await etagOf()}`);
      const beforeJoining = await etagOf();
      await join(space, participant);
      await refuse(beforeJoining);
      equal((await reread(ada, space)).title, 'First', 'Title');
      const listed = await update('Second', `"other", ${await etagOf()}`);
      equal(listed.status, 200, 'Status with the ETag in a list');
      equal((await update('Third', '*')).status, 200, 'Status with If-Match: *');
      equal((await reread(ada, space)).title, 'Third', 'Title');
    },
  },
  {
    operation: 'updateSpace',
    sentence:
      'all responses with a space have its ETag, which an update to the same values leaves unchanged',
    rule: 'An update to the same values leaves it unchanged.',
    async run({ users }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const fields = { title: 'A title', description: '', visibility: 'private', tags: ['b', 'a'] };
      const created = await ada.exchange('createSpace', fields);
      const { space_id } = created.body as Space;
      const etagFor = async (user: User) =>
        (await user.exchange('getSpace', { space_id })).headers.get('etag');
      equal(created.headers.get('etag'), await etagFor(ada), 'ETag of createSpace');
      const renewed = await ada.exchange('renewInvitationCode', { space_id });
      equal(renewed.headers.get('etag'), await etagFor(ada), 'ETag of renewInvitationCode');
      const before = await ada.call('getSpace', { space_id });
      const same = await ada.exchange('updateSpace', { space_id, ...fields });
      equal(same.body, before, 'The space after an update to the same values');
      equal(
        same.headers.get('etag'),
        renewed.headers.get('etag'),
        'ETag after an update to the same values',
      );
      const { invitation_code } = before;
      const joined = await grace.exchange('joinSpace', { space_id, invitation_code });
      equal(joined.headers.get('etag'), await etagFor(grace), 'ETag of joinSpace');
    },
  },
  {
    operation: 'updateSpace',
    sentence: 'a repeated key changes the space once',
    rule: 'Repetitions return the same status with the space or message as it is now.',
    async run({ user, word }) {
      const ada = await user();
      const { space_id } = await createSpace(ada, { visibility: 'private' });
      const other = await createSpace(ada);
      const headers = { 'Idempotency-Key': word() };
      await ada.call('updateSpace', { space_id, title: 'First' }, { headers });
      await ada.call('updateSpace', { space_id, title: 'Second' });
      const repeated = await ada.call('updateSpace', { space_id, title: 'First' }, { headers });
      equal(repeated.title, 'Second', 'Title in a repetition');
      equal((await ada.call('getSpace', { space_id })).title, 'Second', 'Title after a repetition');
      for (const inputs of [
        { space_id, title: 'Third' },
        { space_id: other.space_id, title: 'First' },
      ]) {
        await ada.refused('updateSpace', inputs, 'idempotency_key_reused', { headers });
      }
      const renewal = { headers: { 'Idempotency-Key': word() } };
      const renewed = await ada.call('renewInvitationCode', { space_id }, renewal);
      const again = await ada.call('renewInvitationCode', { space_id }, renewal);
      equal(again.invitation_code, renewed.invitation_code, 'invitation_code in a repetition');
    },
  },
  {
    operation: 'deleteSpace',
    sentence: 'the space, its messages, its participations and its reports are gone',
    rule: 'Permanently deletes a space with its participations, its messages and their appreciations.',
    async run({ users, anonymous, word }) {
      const [ada, participant] = (await users(2)) as [User, User];
      const title = word();
      const space = await createSpace(ada, { title, tags: [title] });
      await join(space, participant);
      const { message_id } = await send(participant, space);
      await participant.call('reportSpace', { space_id: space.space_id, reason: 'x' });
      const { space_id } = space;
      await ada.call('deleteSpace', { space_id });
      for (const caller of [ada, participant, anonymous]) {
        await caller.refused('getSpace', { space_id }, 'space_not_found');
        await caller.refused('listMessages', { space_id }, 'space_not_found');
        await caller.refused('getMessage', { message_id }, 'message_not_found');
      }
      await participant.refused('getParticipation', { space_id }, 'participation_not_found');
      await participant.refused('sendMessage', { space_id, text: 'x' }, 'space_not_found');
      await participant.refused('joinSpace', { space_id }, 'space_not_found');
      await ada.refused('deleteSpace', { space_id }, 'space_not_found');
      const ids = async () => [
        ...(await participant.call('listParticipations')).items.map((each) => each.space.space_id),
        ...(await participant.call('downloadAccountData')).reports.map((each) => each.space_id),
      ];
      require(!(await ids()).includes(
        space_id,
      ), 'A participation or a report of the space is left');
      equal(await anonymous.call('searchSpaces', { q: title }), [], 'Search results');
      equal((await anonymous.call('listTags', { prefix: title.slice(0, 30) })).items, [], 'Tags');
    },
  },
  {
    operation: 'renewInvitationCode',
    sentence: 'the old code stops working, the new one works, and participants stay',
    rule: 'Replaces the invitation code of a private space. The old code stops working immediately. Participants\nstay in the space.',
    async run({ users }) {
      const [ada, participant, stranger] = (await users(3)) as [User, User, User];
      const space = await createSpace(ada, { visibility: 'private' });
      const { space_id, invitation_code } = space;
      await join(space, participant);
      const renewed = await ada.call('renewInvitationCode', { space_id });
      require(renewed.invitation_code !== invitation_code, 'The invitation code has not changed');
      equal(await reread(ada, space), renewed, 'The space');
      equal(renewed.participant_count, 2, 'participant_count');
      await stranger.refused('joinSpace', { space_id, invitation_code }, 'space_not_found');
      await stranger.call('joinSpace', { space_id, invitation_code: renewed.invitation_code });
      await reread(participant, space);
    },
  },
  {
    operation: 'joinSpace',
    sentence: 'a private space requires its code, and nobody learns whether it exists',
    rule: 'If the code is missing\nor wrong, returns 404, as if the space did not exist. If a code was sent, `errors` points to it, even if the\nspace does not exist.',
    async run({ users, word }) {
      const [ada, stranger] = (await users(2)) as [User, User];
      const space = await createSpace(ada, { visibility: 'private' });
      const { space_id, invitation_code } = space;
      const refused = async (inputs: object) => ({
        ...(await stranger.refused('joinSpace', { ...inputs }, 'space_not_found')),
        request_id: '',
      });
      equal(
        await refused({ space_id }),
        await refused({ space_id: word() }),
        'The problem without a code',
      );
      const wrong = await refused({ space_id, invitation_code: word() });
      equal(
        wrong,
        await refused({ space_id: word(), invitation_code: word() }),
        'The problem with a wrong code',
      );
      equal(wrong.errors.length, 1, 'Number of errors for a wrong code');
      await refused({
        space_id,
        invitation_code:
          invitation_code?.toUpperCase() === invitation_code
            ? word()
            : invitation_code?.toUpperCase(),
      });
      await stranger.refused('getSpace', { space_id }, 'space_not_found');
      equal((await reread(ada, space)).participant_count, 1, 'participant_count');
      await stranger.call('joinSpace', { space_id, invitation_code });
      equal((await reread(ada, space)).participant_count, 2, 'participant_count');
    },
  },
  {
    operation: 'joinSpace',
    sentence: 'joining twice has no effect, and all lists and counts show the participant',
    rule: 'Makes the caller a participant in a space. Has no effect if the caller already is one.',
    async run({ users, anonymous }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const space = await createSpace(ada);
      const { space_id } = space;
      await grace.refused('getParticipation', { space_id }, 'participation_not_found');
      const joined = await grace.call('joinSpace', { space_id });
      equal(joined.space.participant_count, 2, 'participant_count');
      equal(joined.space.participation?.joined_at, joined.joined_at, 'participation.joined_at');
      equal(
        [joined.read_until, joined.last_message_at, joined.unread_count],
        [joined.joined_at, null, 0],
        'read_until, last_message_at and unread_count',
      );
      equal(
        await grace.call('joinSpace', { space_id }, { body: '{}' }),
        joined,
        'The participation after joining twice',
      );
      equal(
        await grace.call('joinSpace', { space_id }, { body: 'null' }),
        joined,
        'The participation after joining twice',
      );
      equal(await grace.call('getParticipation', { space_id }), joined, 'The participation');
      equal((await grace.call('listParticipations')).items[0], joined, 'The newest participation');
      equal((await reread(anonymous, space)).participant_count, 2, 'participant_count');
      const { items } = await ada.call('listParticipants', { space_id });
      equal(
        items.map(({ user, joined_at }) => [user.user_id, joined_at]),
        [
          [grace.id, joined.joined_at],
          [ada.id, space.created_at],
        ],
        'Participants',
      );
    },
  },
  {
    operation: 'leaveSpace',
    sentence: 'a participant who has left is none, keeps the messages, and can join again',
    rule: "Ends the caller's participation in a space. Has no effect if the space is public and the caller is\nnot a participant. The caller's messages stay in the space and still count in the caller's statistics.",
    async run({ users, anonymous }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space, messages } = await createConversation(ada, 'public', grace);
      const { space_id } = space;
      await grace.call('leaveSpace', { space_id });
      await grace.call('leaveSpace', { space_id });
      await grace.refused('getParticipation', { space_id }, 'participation_not_found');
      await grace.refused('sendMessage', { space_id, text: 'x' }, 'not_a_participant');
      require((await grace.call('listParticipations')).items.every(
        (each) => each.space.space_id !== space_id,
      ), 'listParticipations contains a space that the caller has left');
      const seen = await reread(grace, space);
      equal(
        [seen.participant_count, seen.participation],
        [1, null],
        'participant_count and participation',
      );
      equal(
        (await ada.call('listParticipants', { space_id })).items.map(({ user }) => user.user_id),
        [ada.id],
        'Participants',
      );
      equal(
        (await anonymous.call('listMessages', { space_id })).items.length,
        2,
        'Number of messages',
      );
      await grace.call('joinSpace', { space_id });
      equal((await reread(ada, space)).participant_count, 2, 'participant_count');
      await send(grace, space);
      await grace.call('deleteMessage', { message_id: messages[1]?.message_id });
      await ada.refused('leaveSpace', { space_id }, 'creator_cannot_leave');
      equal((await reread(ada, space)).participant_count, 2, 'participant_count');
    },
  },
  {
    operation: 'leaveSpace',
    sentence: 'a private space is unknown to a participant who has left',
    rule: 'Returns 404 if the space is private and the caller is not a participant.',
    async run({ users }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space, messages } = await createConversation(ada, 'private', grace);
      const { space_id } = space;
      await grace.call('leaveSpace', { space_id });
      await grace.refused('leaveSpace', { space_id }, 'space_not_found');
      await grace.refused('getSpace', { space_id }, 'space_not_found');
      await grace.refused('joinSpace', { space_id }, 'space_not_found');
      // Authors can delete their messages even after they have left the space.
      await grace.call('deleteMessage', { message_id: messages[1]?.message_id });
      equal((await ada.call('listMessages', { space_id })).items.length, 1, 'Number of messages');
      await grace.call('joinSpace', { space_id, invitation_code: space.invitation_code });
    },
  },
  {
    operation: 'removeParticipant',
    sentence: 'a removed user loses access at once and cannot return until the removal is undone',
    rule: "A removed user immediately loses access to a private space. The user's messages stay in the space",
    async run({ users }) {
      const [ada, grace, other] = (await users(3)) as [User, User, User];
      const { space } = await createConversation(ada, 'private', grace, other);
      const { space_id, invitation_code } = space;
      const removal = { space_id, user_id: grace.id };
      const { user, removed_at } = await ada.call('removeParticipant', removal);
      equal(user.user_id, grace.id, 'user_id of the removal');
      equal(
        (await ada.call('removeParticipant', removal)).removed_at,
        removed_at,
        'removed_at of a repeated removal',
      );
      equal(
        (await ada.call('listRemovals', { space_id })).items.map((each) => each.user.user_id),
        [grace.id],
        'Removals',
      );
      await grace.refused('getSpace', { space_id }, 'space_not_found');
      await grace.refused('listMessages', { space_id }, 'space_not_found');
      await grace.refused('joinSpace', { space_id, invitation_code }, 'removed_from_space');
      await grace.refused('getParticipation', { space_id }, 'participation_not_found');
      equal((await reread(ada, space)).participant_count, 2, 'participant_count');
      equal(
        (await other.call('listParticipants', { space_id })).items.map((each) => each.user.user_id),
        [other.id, ada.id],
        'Participants',
      );
      equal((await other.call('listMessages', { space_id })).items.length, 3, 'Number of messages');
      await ada.call('undoRemoval', removal);
      await ada.call('undoRemoval', removal);
      equal((await ada.call('listRemovals', { space_id })).items, [], 'Removals');
      await grace.refused('getSpace', { space_id }, 'space_not_found');
      await grace.call('joinSpace', { space_id, invitation_code });
      await reread(grace, space);
      equal((await reread(ada, space)).participant_count, 3, 'participant_count');
    },
  },
  {
    operation: 'removeParticipant',
    sentence: 'former participants can be removed; the creator, strangers and unknown users cannot',
    rule: 'Returns 404 if the user has never joined the space. Returns 409 if the user is the\ncreator of the space.',
    async run({ users, word }) {
      const [ada, former, stranger] = (await users(3)) as [User, User, User];
      const space = await createSpace(ada);
      const { space_id } = space;
      await join(space, former);
      await former.call('leaveSpace', { space_id });
      await ada.refused(
        'removeParticipant',
        { space_id, user_id: stranger.id },
        'participant_not_found',
      );
      await ada.refused(
        'removeParticipant',
        { space_id, user_id: word() },
        'participant_not_found',
      );
      await ada.refused('removeParticipant', { space_id, user_id: ada.id }, 'creator_cannot_leave');
      await ada.call('removeParticipant', { space_id, user_id: former.id });
      await former.refused('joinSpace', { space_id }, 'removed_from_space');
      // A public space stays readable.
      equal((await reread(former, space)).participant_count, 1, 'participant_count');
      await ada.call('undoRemoval', { space_id, user_id: stranger.id });
      await ada.call('undoRemoval', { space_id, user_id: former.id });
      await join(space, former);
    },
  },
  {
    operation: 'updateSpace',
    sentence: 'only the creator and the moderators write in a read-only space, until it is none',
    rule: 'Who can send messages to a space, and edit their own: all participants, or only the creator and the moderators',
    async run({ users }) {
      const [ada, grace, other] = (await users(3)) as [User, User, User];
      const created = await createSpace(ada, { posting: 'moderators' });
      equal(created.posting, 'moderators', 'posting of a new space');
      const { space_id } = created;
      await join(created, grace, other);
      await ada.call('appointModerator', { space_id, user_id: grace.id });
      const message = await send(grace, created);
      await other.refused('sendMessage', { space_id, text: 'Hello' }, 'space_is_read_only');
      await other.call('appreciateMessage', { message_id: message.message_id });
      equal((await reread(other, created)).posting, 'moderators', 'posting');
      const changed = await ada.call('updateSpace', { space_id, posting: 'participants' });
      equal(changed, { ...(await reread(ada, created)), posting: 'participants' }, 'The space');
      await send(other, created);
      equal((await createSpace(ada)).posting, 'participants', 'posting of a space without it');
    },
  },
  {
    operation: 'appointModerator',
    sentence: 'a moderator deletes messages, and removes and readmits participants',
    rule: 'Moderators can delete all messages in it, and list, remove and readmit\nparticipants, but neither the creator nor other moderators.',
    async run({ users }) {
      const [ada, grace, other] = (await users(3)) as [User, User, User];
      const { space, messages } = await createConversation(ada, 'private', grace, other);
      const { space_id, invitation_code } = space;
      const appointment = { space_id, user_id: grace.id };
      const { user, role } = await ada.call('appointModerator', appointment);
      equal([user.user_id, role], [grace.id, 'moderator'], 'The response');
      await ada.call('appointModerator', appointment);
      equal(
        (await ada.call('appointModerator', { space_id, user_id: ada.id })).role,
        'creator',
        'role of the creator after an appointment',
      );
      equal(
        (await other.call('listParticipants', { space_id })).items.map((each) => each.role),
        ['participant', 'moderator', 'creator'],
        'Roles of the participants',
      );
      equal((await grace.call('getParticipation', { space_id })).role, 'moderator', 'role');
      equal((await reread(grace, space)).participation?.role, 'moderator', 'participation.role');
      equal((await reread(grace, space)).invitation_code, null, 'invitation_code');
      equal(
        (await grace.call('downloadAccountData')).participations.find(
          (each) => each.space_id === space_id,
        )?.is_moderator,
        true,
        'is_moderator in the data of the account',
      );
      for (const { message_id } of messages) await grace.call('deleteMessage', { message_id });
      await grace.call('removeParticipant', { space_id, user_id: other.id });
      equal((await grace.call('listRemovals', { space_id })).items.length, 1, 'Removals');
      await grace.call('undoRemoval', { space_id, user_id: other.id });
      await other.call('joinSpace', { space_id, invitation_code });
    },
  },
  {
    operation: 'appointModerator',
    sentence: 'only participants can be moderators, and leaving or removal ends it',
    rule: 'Leaving the space or being removed from it ends the appointment, also if the user joins again.',
    async run({ users, word }) {
      const [ada, grace, stranger] = (await users(3)) as [User, User, User];
      const space = await createSpace(ada);
      const { space_id } = space;
      await join(space, grace);
      const appointment = { space_id, user_id: grace.id };
      for (const user_id of [stranger.id, word()]) {
        await ada.refused('appointModerator', { space_id, user_id }, 'participant_not_found');
      }
      await ada.call('appointModerator', appointment);
      await grace.call('leaveSpace', { space_id });
      await ada.refused('appointModerator', appointment, 'participant_not_found');
      await grace.refused('listRemovals', { space_id }, 'not_space_moderator');
      await join(space, grace);
      equal((await reread(grace, space)).participation?.role, 'participant', 'role after leaving');
      await ada.call('appointModerator', appointment);
      await ada.call('removeParticipant', appointment);
      await ada.call('undoRemoval', appointment);
      await join(space, grace);
      equal((await reread(grace, space)).participation?.role, 'participant', 'role after removal');
    },
  },
  {
    operation: 'dismissModerator',
    sentence:
      'a dismissed moderator has the rights of a participant at once, and one who resigns, too',
    rule: 'Ends the appointment of a moderator, who remains a participant. Has no effect if the user is not a moderator of the\nspace, or does not exist. Moderators can resign: they can call it with their own id.',
    async run({ users }) {
      const [ada, grace, other] = (await users(3)) as [User, User, User];
      const { space, messages } = await createConversation(ada, 'public', grace, other);
      const { space_id } = space;
      const appointment = { space_id, user_id: grace.id };
      await ada.call('appointModerator', appointment);
      await ada.call('dismissModerator', appointment);
      await ada.call('dismissModerator', appointment);
      await ada.call('dismissModerator', { space_id, user_id: ada.id });
      const removal = { space_id, user_id: other.id };
      await grace.refused('removeParticipant', removal, 'not_space_moderator');
      const { message_id } = messages[0] as Message;
      await grace.refused('deleteMessage', { message_id }, 'not_message_author');
      equal((await reread(grace, space)).participation?.role, 'participant', 'role');
      equal((await reread(ada, space)).participation?.role, 'creator', 'role of the creator');
      await ada.call('appointModerator', appointment);
      await other.refused('dismissModerator', appointment, 'not_space_creator');
      await grace.call('dismissModerator', appointment);
      equal(
        (await reread(grace, space)).participation?.role,
        'participant',
        'role after resigning',
      );
    },
  },
  {
    operation: 'getParticipation',
    sentence: 'counts the unread among the latest 100 messages',
    rule: "Number of unread messages among the latest 100 in the space. The caller's own messages are never unread.",
    async run({ users }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const space = await createSpace(ada);
      await join(space, grace);
      for (let i = 0; i < 101; i += 1) await send(ada, space);
      const unread = async (user: User) =>
        (await user.call('getParticipation', { space_id: space.space_id })).unread_count;
      equal(await unread(grace), 100, 'unread_count after 101 messages');
      await send(grace, space);
      equal(await unread(grace), 99, 'unread_count after an own message');
      equal(await unread(ada), 1, 'unread_count of the sender');
    },
  },
  {
    operation: 'getParticipation',
    sentence: 'has the author and the beginning of the latest message',
    rule: 'The first 140 code points of the text, and `…` if it is longer',
    async run({ users }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const space = await createSpace(ada);
      const { space_id } = space;
      const lastMessage = async () => {
        const { last_message, last_message_at } = await ada.call('getParticipation', { space_id });
        equal(last_message_at, last_message?.created_at ?? null, 'last_message_at');
        return last_message;
      };
      equal(await lastMessage(), null, 'last_message of a new space');
      await join(space, grace);
      for (const [sent, text] of [
        ['🍞'.repeat(140), '🍞'.repeat(140)],
        ['🍞'.repeat(141), `${'🍞'.repeat(140)}…`],
      ]) {
        const { message_id, author, created_at } = await send(grace, space, sent);
        equal(await lastMessage(), { message_id, author, text, created_at }, 'last_message');
      }
      const { message_id } = (await lastMessage()) ?? {};
      await grace.call('deleteMessage', { message_id });
      equal((await lastMessage())?.text, '🍞'.repeat(140), 'last_message after a deletion');
    },
  },
  {
    operation: 'listParticipations',
    sentence: 'has the unread messages of all spaces on its first page',
    rule: 'The unread messages in all spaces of the caller together.',
    async run({ user, newcomer }) {
      const [ada, grace] = [await user(), await newcomer()];
      const spaces = [await createSpace(ada), await createSpace(ada), await createSpace(ada)];
      for (const space of spaces) await join(space, grace);
      const [first, second] = spaces as [Space, Space];
      for (const space of [first, first, second]) await send(ada, space);
      await send(grace, second);
      for (const sort of ['joined', 'recent']) {
        const page = await grace.call('listParticipations', { sort, limit: 1 });
        equal(page.unread, { space_count: 2, message_count: 3 }, 'unread');
        const cursor = page.next_cursor;
        const next = await grace.call('listParticipations', { sort, limit: 1, cursor });
        equal(next.unread, null, 'unread of the second page');
      }
    },
  },
  {
    operation: 'markRead',
    sentence: 'moves read_until forward only, and counts the later messages of others',
    rule: 'participation to the `created_at` of the message, but never to an earlier time.',
    async run({ users, word }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const space = await createSpace(ada);
      const { space_id } = space;
      const early = await send(ada, space);
      await join(space, grace);
      const sent = [];
      for (let i = 0; i < 3; i += 1) sent.push(await send(ada, space));
      await send(grace, space);
      const [, second, third] = sent;
      const expectRead = async (
        what: string,
        read_until: string | undefined,
        unread_count: number,
      ) => {
        const current = await grace.call('getParticipation', { space_id });
        equal(
          [current.read_until, current.unread_count],
          [read_until, unread_count],
          `read_until and unread_count ${what}`,
        );
        return current;
      };
      const before = await grace.call('getParticipation', { space_id });
      await expectRead('before', before.joined_at, 3);
      const marked = await grace.call('markRead', { space_id, message_id: second?.message_id });
      equal(await expectRead('after markRead', second?.created_at, 1), marked, 'The participation');
      await grace.call('markRead', { space_id, message_id: early.message_id });
      await expectRead('after an earlier message', second?.created_at, 1);
      const otherSpace = await createSpace(ada);
      await join(otherSpace, grace);
      const inOther = await send(ada, otherSpace);
      await grace.call('markRead', { space_id, message_id: third?.message_id });
      await expectRead('after the latest message', third?.created_at, 0);
      const other = await grace.call('getParticipation', { space_id: otherSpace.space_id });
      equal(
        [other.read_until, other.unread_count],
        [other.joined_at, 1],
        'read_until and unread_count of another space',
      );
      await send(ada, space);
      await expectRead('after another message', third?.created_at, 1);
      equal(
        (await ada.call('getParticipation', { space_id })).read_until,
        space.created_at,
        'read_until of another participant',
      );
      const elsewhere = await send(ada, await createSpace(ada));
      for (const message_id of [word(), elsewhere.message_id, inOther.message_id]) {
        await grace.refused('markRead', { space_id, message_id }, 'message_not_found');
      }
      await expectRead('after refused requests', third?.created_at, 1);
    },
  },
];
