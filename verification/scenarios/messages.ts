import wordCounts from '../vectors/word-counts.json' with { type: 'json' };
import { createConversation, createSpace, join, type Message, send, statsOf } from './actions.ts';
import type { User } from './caller.ts';
import { equal, require } from './expectations.ts';
import type { Scenario } from './scenario.ts';

const TWELVE_TREES = 'alder birch cedar elder ficus hazel larch maple olive poplar rowan willow';

export const messages: Scenario[] = [
  {
    operation: 'sendMessage',
    sentence: 'everyone who can read the space reads the message as it was sent',
    rule: 'The text as it was sent',
    async run({ users, anonymous }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const space = await createSpace(ada);
      await join(space, grace);
      const { space_id } = space;
      const text = '  <b>Zwei\r\n\tWörter</b> 👍\n';
      const message = await send(grace, space, text);
      const { message_id } = message;
      equal(
        [message.text, message.space_id, message.word_count],
        [text, space_id, 4],
        'text, space_id and word_count',
      );
      equal(
        [message.author.user_id, message.author.username],
        [grace.id, grace.account.username],
        'author',
      );
      equal(
        [message.appreciation_count, message.is_appreciated],
        [0, false],
        'appreciation_count and is_appreciated',
      );
      require(message.created_at > space.created_at, 'The message is not later than the space');
      for (const reader of [ada, grace, anonymous]) {
        equal(
          await reader.call('getMessage', { message_id }),
          message,
          'The message of getMessage',
        );
        equal(
          (await reader.call('listMessages', { space_id })).items,
          [message],
          'The messages of listMessages',
        );
      }
    },
  },
  {
    operation: 'sendMessage',
    sentence: 'messages have increasing times, and the newest is first',
    rule: 'The times of\nmessages that were sent to a space always increase',
    async run({ users, anonymous }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const space = await createSpace(ada);
      await join(space, grace);
      const sent = await Promise.all(
        [1, 2, 3, 4].map((i) => send(i % 2 ? ada : grace, space, `${i}`)),
      );
      sent.push(await send(ada, space, '5'));
      const { items } = await anonymous.call('listMessages', { space_id: space.space_id });
      const times = items.map(({ created_at }) => created_at);
      equal(times, [...new Set(times)].sort().reverse(), 'The times in the list');
      equal(
        items.map(({ message_id }) => message_id).sort(),
        sent.map(({ message_id }) => message_id).sort(),
        'The messages',
      );
      equal(items[0]?.text, '5', 'The newest message');
    },
  },
  {
    operation: 'sendMessage',
    sentence: 'a reply has the beginning of the message that it answers, as it is now',
    rule: '`reply_to` of the new message always has the author and the beginning of the other one as they are now.',
    async run({ users, anonymous }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space, messages } = await createConversation(ada, 'public', grace);
      const { space_id } = space;
      const [{ message_id, author, created_at }] = messages as [Message];
      const answer = { space_id, text: 'I agree.', reply_to: message_id };
      const reply = await grace.call('sendMessage', answer);
      equal(
        [reply.is_reply, reply.reply_to],
        [true, { message_id, author, text: 'Hello there!', created_at }],
        'is_reply and reply_to',
      );
      const read = () => anonymous.call('getMessage', { message_id: reply.message_id });
      equal(await read(), reply, 'The reply of getMessage');
      await ada.call('editMessage', { message_id, text: '👍'.repeat(141) });
      equal((await read()).reply_to?.text, `${'👍'.repeat(140)}…`, 'text of an edited message');
      const other = await send(ada, await createSpace(ada));
      for (const reply_to of [other.message_id, 'unknown']) {
        await grace.refused('sendMessage', { ...answer, reply_to }, 'message_not_found');
      }
      await ada.call('deleteMessage', { message_id });
      const { items } = await grace.call('listMessages', { space_id });
      equal(items, [{ ...reply, reply_to: null }, messages[1]], 'The messages after the deletion');
      await grace.refused('sendMessage', answer, 'message_not_found');
    },
  },
  {
    operation: 'sendMessage',
    sentence: 'a message mentions the users after @ who can read the space, and no others',
    rule: '`@` before a username mentions this user, if the user can read the space and is not suspended: in a private space,\nonly its participants.',
    async run({ users }) {
      const [ada, grace, stranger] = (await users(3)) as [User, User, User];
      const names = [grace, stranger].map(({ account }) => account.username) as [string, string];
      const text = `@${names[0].toUpperCase()} and @${names[1]}, not x@${names[0]} or @${names[1]}x`;
      const mentioned = ({ mentions }: Message) => mentions.map(({ user_id }) => user_id).sort();
      const open = await createConversation(ada, 'public', grace);
      const message = await send(ada, open.space, text);
      equal(mentioned(message), [grace.id, stranger.id].sort(), 'mentions in a public space');
      const { space } = await createConversation(ada, 'private', grace);
      const { space_id } = space;
      const hidden = await send(ada, space, text);
      equal(mentioned(hidden), [grace.id], 'mentions in a private space');
      const { message_id } = hidden;
      equal(await grace.call('getMessage', { message_id }), hidden, 'The message of getMessage');
      const unread = async () =>
        (await grace.call('getParticipation', { space_id })).unread_mentions;
      equal(await unread(), 1, 'unread_mentions');
      await grace.call('markRead', { space_id, message_id });
      equal(await unread(), 0, 'unread_mentions after markRead');
      const edited = await ada.call('editMessage', { message_id, text: 'Nobody' });
      equal(edited.mentions, [], 'mentions of the new text');
    },
  },
  {
    operation: 'sendMessage',
    sentence: 'only the first 20 names count, and only whole ones',
    rule: 'Only the first 20 names after `@` in a text count.',
    async run({ users, word }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space } = await createConversation(ada, 'public', grace);
      const { username } = grace.account;
      const mentionsIn = async (text: string) =>
        (await send(ada, space, text)).mentions.map(({ user_id }) => user_id);
      const others = Array.from({ length: 20 }, () => `@${word()},`);
      const last = `${others.slice(1).join(' ')} @${username}`;
      equal(await mentionsIn(last), [grace.id], 'mentions of the 20th name');
      equal(await mentionsIn(`${others[0]} ${last}`), [], 'mentions of the 21st name');
      equal(await mentionsIn(`@${username}x`), [], 'mentions of the beginning of a name');
    },
  },
  {
    operation: 'editMessage',
    sentence: 'an edited message mentions those whom its new text mentions',
    rule: 'The mentions are those of the new text.',
    async run({ users }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space } = await createConversation(ada, 'private', grace);
      const text = `Hello @${grace.account.username}`;
      const { message_id } = await send(ada, space);
      const other = await send(ada, space, text);
      const { newer_cursor } = await grace.call('listParticipations', {});
      const edited = await ada.call('editMessage', { message_id, text });
      equal(
        edited.mentions.map(({ user_id }) => user_id),
        [grace.id],
        'mentions of the new text',
      );
      equal(await grace.call('getMessage', { message_id }), edited, 'The message of getMessage');
      const { message_id: otherId } = other;
      equal(await grace.call('getMessage', { message_id: otherId }), other, 'Another message');
      const { items } = await grace.call('listParticipations', { after: newer_cursor });
      equal(
        items.map(({ unread_mentions }) => unread_mentions),
        [2],
        'unread_mentions in the followed list',
      );
    },
  },
  {
    operation: 'sendMessage',
    sentence: 'one key sends one message',
    rule: 'Repetitions return the same status with the space or message as it is now.',
    async run({ users, word }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const space = await createSpace(ada);
      await join(space, grace);
      const { space_id } = space;
      const headers = { 'Idempotency-Key': word() };
      const body = { space_id, text: 'Once' };
      const first = await ada.call('sendMessage', body, { headers });
      const { message_id } = first;
      equal(await ada.call('sendMessage', body, { headers }), first, 'The repeated message');
      await grace.call('appreciateMessage', { message_id });
      equal(
        (await ada.call('sendMessage', body, { headers })).appreciation_count,
        1,
        'appreciation_count in a repetition',
      );
      await ada.refused('sendMessage', { ...body, text: 'Twice' }, 'idempotency_key_reused', {
        headers,
      });
      const ofGrace = await grace.call('sendMessage', body, { headers });
      require(ofGrace.message_id !==
        message_id, 'Two accounts with the same key get the same message');
      equal((await ada.call('listMessages', { space_id })).items.length, 2, 'Number of messages');
      await ada.call('deleteMessage', { message_id });
      await ada.refused('sendMessage', body, 'message_not_found', { headers });
      // Without a key, each request sends a message.
      await send(ada, space, 'Once');
      await send(ada, space, 'Once');
      equal((await ada.call('listMessages', { space_id })).items.length, 3, 'Number of messages');
    },
  },
  {
    operation: 'sendMessage',
    sentence: 'word_count is the number of words by the word boundaries of Unicode',
    rule: 'Number of words in the text, by the word boundaries of Unicode (UAX 29)',
    async run({ user }) {
      const ada = await user();
      const space = await createSpace(ada);
      for (const { text, words } of wordCounts.cases) {
        // A blank text is not a message.
        if (text.trim() === '') continue;
        equal(
          (await send(ada, space, text)).word_count,
          words,
          `word_count of ${JSON.stringify(text)}`,
        );
      }
    },
  },
  {
    operation: 'listMessages',
    sentence: 'a page around a message has it in its middle, and leads to the older and newer ones',
    rule: 'With `around`, the page has that message in its middle: up to half of `limit` newer ones, rounded down, then the\nmessage and older ones.',
    async run({ users, anonymous }) {
      const [ada] = (await users(1)) as [User];
      const space = await createSpace(ada);
      const { space_id } = space;
      const sent: Message[] = [];
      for (let i = 0; i < 7; i += 1) sent.unshift(await send(ada, space, `${i}`));
      const list = (inputs: object) => anonymous.call('listMessages', { space_id, ...inputs });
      const { message_id, created_at } = sent[3] as Message;
      const page = await list({ around: message_id, limit: 4 });
      equal(page.items, sent.slice(1, 5), 'The messages around one');
      const atTime = await list({ around: created_at, limit: 4 });
      equal(atTime.items, sent.slice(1, 5), 'The messages around a time');
      const older = await list({ around: message_id, limit: 4, cursor: page.next_cursor });
      equal([older.items, older.next_cursor], [sent.slice(5), null], 'The older messages');
      const newer = await list({ after: page.newer_cursor });
      equal(newer.items, sent.slice(0, 1), 'The newer messages');
      const other = await send(ada, await createSpace(ada));
      for (const around of [other.message_id, 'unknown']) {
        await anonymous.refused('listMessages', { space_id, around }, 'message_not_found');
      }
      for (const around of ['2026-02-30T20:17:31.004Z', '2026-13-01T20:17:31.004Z']) {
        await anonymous.refused('listMessages', { space_id, around }, 'invalid_request');
      }
    },
  },
  {
    operation: 'listMessages',
    sentence: 'a search finds the messages with all of its words, newest first, as they are now',
    rule: 'A search finds every message that has been sent or edited before it, and no deleted one.',
    async run({ users, anonymous }) {
      const [ada] = (await users(1)) as [User];
      const space = await createSpace(ada);
      const { space_id } = space;
      const empty = await anonymous.call('listMessages', { space_id, q: 'elan' });
      const elan = await send(ada, space, 'Élan vital');
      const first = await anonymous.call('listMessages', { space_id, after: empty.newer_cursor });
      equal(first.items, [elan], 'The messages after a search in an empty space');
      const wetDough = await send(ada, space, 'a wet dough');
      const doughWet = await send(ada, space, 'dough, wet!');
      const doughs = await send(ada, space, 'dry doughs');
      const tokyo = await send(ada, space, '明日は東京都へ');
      const trees = await send(ada, space, TWELVE_TREES);
      const find = async (q: string, inputs: object = {}) =>
        anonymous.call('listMessages', { space_id, q, ...inputs });
      const finds = async (q: string, found: Message[]) =>
        equal((await find(q)).items, found, `The messages for ${q}`);
      await finds('elan', [elan]);
      await finds('dough', [doughs, doughWet, wetDough]);
      await finds('WET dou', [doughWet, wetDough]);
      await finds('"wet dough"', [wetDough]);
      await finds('"wet dou"', []);
      await finds('"wet" do', [doughWet, wetDough]);
      await finds('do "wet"', []);
      await finds('京都', [tokyo]);
      await finds('"京都"', [tokyo]);
      await finds(`${TWELVE_TREES} yew`, [trees]);
      await finds(TWELVE_TREES.replace('willow', 'yew'), []);
      await finds('duogh', []);
      await finds('?!', []);
      const found: Message[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await find('dough', { limit: 1, ...(cursor && { cursor }) });
        require(page.items.length <= 1, 'A page has more messages than `limit`');
        found.push(...page.items);
        if (cursor) {
          const { newer_cursor: after } = page;
          const { items } = await anonymous.call('listMessages', { space_id, after });
          equal(items.at(-1), trees, 'The newest message after a later page');
        }
        if (page.next_cursor === null) break;
        cursor = page.next_cursor;
      }
      equal(found, [doughs, doughWet, wetDough], 'The messages of all pages');
      await ada.call('editMessage', { message_id: elan.message_id, text: 'dough' });
      await ada.call('deleteMessage', { message_id: doughs.message_id });
      await finds('elan', []);
      equal(
        (await find('dough')).items.map(({ message_id }) => message_id),
        [doughWet, wetDough, elan].map(({ message_id }) => message_id),
        'The messages after an edit and a deletion',
      );
      const { newer_cursor: after } = await find('dough');
      const other = await send(ada, space, 'other');
      const { items } = await anonymous.call('listMessages', { space_id, after });
      equal(items, [other], 'The messages after a search');
      for (const inputs of [{ around: other.message_id }, { after }, { after, wait: 1 }]) {
        await anonymous.refused('listMessages', { space_id, q: 'x', ...inputs }, 'invalid_request');
      }
    },
  },
  {
    operation: 'editMessage',
    sentence: 'the author who participates can replace the text, which everyone then reads',
    rule: 'Replaces the text of a message that the caller wrote, and sets `edited_at`.',
    async run({ users, anonymous }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const { space, messages } = await createConversation(ada, 'public', grace);
      const { message_id, created_at } = messages[1] as Message;
      equal((messages[1] as Message).edited_at, null, 'edited_at of a new message');
      const words = async () => (await statsOf(grace)).total_words_contributed;
      const before = await words();
      const edited = await grace.call('editMessage', { message_id, text: 'One two three' });
      equal(
        edited,
        { ...messages[1], text: 'One two three', word_count: 3, edited_at: edited.edited_at },
        'The edited message',
      );
      require((edited.edited_at ?? '') >= created_at, 'edited_at is before created_at');
      for (const reader of [ada, grace, anonymous]) {
        equal(await reader.call('getMessage', { message_id }), edited, 'The message of getMessage');
        const { items } = await reader.call('listMessages', { space_id: space.space_id });
        equal(items, [edited, messages[0]], 'The messages of listMessages');
      }
      equal((await words()) - before, 1, 'Additional words of the author');
      equal(
        await grace.call('editMessage', { message_id, text: 'One two three' }),
        edited,
        'The message after an edit to the same text',
      );
      await ada.refused('editMessage', { message_id, text: 'Mine' }, 'not_message_author');
      await grace.call('leaveSpace', { space_id: space.space_id });
      await grace.refused('editMessage', { message_id, text: 'Late' }, 'not_a_participant');
      equal(await anonymous.call('getMessage', { message_id }), edited, 'The message at the end');
    },
  },
  {
    operation: 'editMessage',
    sentence: 'an ETag of an earlier state prevents the edit',
    rule: 'With `If-Match`, returns 412 if the response of `getMessage` has changed since the ETag',
    async run({ users }) {
      const [ada] = (await users(1)) as [User];
      const { message_id } = await send(ada, await createSpace(ada));
      const etagOf = async () =>
        (await ada.exchange('getMessage', { message_id })).headers.get('etag') ?? '';
      const edit = (text: string) => ({ message_id, text });
      const etag = await etagOf();
      const headers = { 'If-Match': etag };
      const read = () =>
        ada.exchange('getMessage', { message_id }, { headers: { 'If-None-Match': etag } });
      equal((await read()).status, 304, 'Status with If-None-Match');
      await ada.call('editMessage', edit('first'), { headers });
      equal((await read()).status, 200, 'Status with If-None-Match after the edit');
      await ada.refused('editMessage', edit('second'), 'precondition_failed', { headers });
      equal((await ada.call('getMessage', { message_id })).text, 'first', 'text');
      await ada.call('editMessage', edit('third'), { headers: { 'If-Match': await etagOf() } });
      await ada.call('editMessage', edit('fourth'));
    },
  },
  {
    operation: 'editMessage',
    sentence: 'a repeated edit does not undo a later one',
    rule: 'Repetitions return the same status with the space or message as it is now.',
    async run({ users, word }) {
      const [ada] = (await users(1)) as [User];
      const { message_id } = await send(ada, await createSpace(ada));
      const edit = (text: string, key: string) =>
        ada.call('editMessage', { message_id, text }, { headers: { 'Idempotency-Key': key } });
      const [first, second] = [word(), word()];
      await edit('first', first);
      await edit('second', second);
      equal((await edit('first', first)).text, 'second', 'text after the repetition');
      equal((await ada.call('getMessage', { message_id })).text, 'second', 'text of getMessage');
    },
  },
  {
    operation: 'deleteMessage',
    sentence:
      'the author and the creator of the space can delete a message, and then nobody reads it',
    rule: 'The creator and the moderators of a space can delete all messages in it. Returns 403 if\nthe caller is none of them.',
    async run({ users, anonymous }) {
      const [ada, grace, other] = (await users(3)) as [User, User, User];
      const { space, messages } = await createConversation(ada, 'public', grace, other);
      const { space_id } = space;
      const [ofAda, ofGrace, ofOther] = messages as [Message, Message, Message];
      await other.refused(
        'deleteMessage',
        { message_id: ofGrace.message_id },
        'not_message_author',
      );
      await grace.refused('deleteMessage', { message_id: ofAda.message_id }, 'not_message_author');
      await grace.call('deleteMessage', { message_id: ofGrace.message_id });
      await ada.call('deleteMessage', { message_id: ofOther.message_id });
      for (const { message_id } of [ofGrace, ofOther]) {
        await anonymous.refused('getMessage', { message_id }, 'message_not_found');
        await ada.refused('deleteMessage', { message_id }, 'message_not_found');
        await ada.refused('appreciateMessage', { message_id }, 'message_not_found');
      }
      equal(
        (await anonymous.call('listMessages', { space_id })).items,
        [ofAda],
        'The remaining messages',
      );
    },
  },
  {
    operation: 'appreciateMessage',
    sentence: 'counts each user once, and shows each caller the own appreciation',
    rule: 'Each user can appreciate a message once; repeating the\nrequest has no effect.',
    async run({ users, anonymous }) {
      const [ada, grace, stranger] = (await users(3)) as [User, User, User];
      const { messages, space } = await createConversation(ada, 'public', grace);
      const [{ message_id }] = messages as [Message];
      const appreciate = { message_id };
      const expectCount = async (count: number, appreciating: readonly User[]) => {
        for (const caller of [ada, grace, stranger, anonymous]) {
          const expected = [count, appreciating.includes(caller as User)];
          const read = await caller.call('getMessage', { message_id });
          equal(
            [read.appreciation_count, read.is_appreciated],
            expected,
            'appreciation_count and is_appreciated',
          );
          const listed = (await caller.call('listMessages', { space_id: space.space_id })).items[1];
          equal(listed, read, 'The message in the list');
        }
      };
      await ada.refused('appreciateMessage', appreciate, 'own_message');
      const appreciated = await grace.call('appreciateMessage', appreciate);
      equal(
        [appreciated.appreciation_count, appreciated.is_appreciated],
        [1, true],
        'appreciation_count and is_appreciated',
      );
      equal(
        await grace.call('appreciateMessage', appreciate),
        appreciated,
        'The message after a repetition',
      );
      await expectCount(1, [grace]);
      await stranger.call('appreciateMessage', appreciate);
      await expectCount(2, [grace, stranger]);
      const other = await send(ada, space);
      await grace.call('appreciateMessage', { message_id: other.message_id });
      const withdrawn = await grace.call('withdrawAppreciation', appreciate);
      const kept = await grace.call('getMessage', { message_id: other.message_id });
      equal(kept.is_appreciated, true, 'is_appreciated of another message');
      await ada.call('deleteMessage', { message_id: other.message_id });
      equal(
        [withdrawn.appreciation_count, withdrawn.is_appreciated],
        [1, false],
        'appreciation_count and is_appreciated',
      );
      equal(
        await grace.call('withdrawAppreciation', appreciate),
        withdrawn,
        'The message after a repetition',
      );
      await ada.call('withdrawAppreciation', appreciate);
      await expectCount(1, [stranger]);
    },
  },
];
