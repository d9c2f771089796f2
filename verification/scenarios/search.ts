import tags from '../vectors/tags.json' with { type: 'json' };
import { createSpace, join } from './actions.ts';
import type { Caller, Inputs, User } from './caller.ts';
import { equal, require } from './expectations.ts';
import type { Scenario } from './scenario.ts';

const idsOf = (spaces: readonly { space_id: string }[]) => spaces.map(({ space_id }) => space_id);

async function found(caller: Caller, q: string, inputs: Inputs = {}): Promise<string[]> {
  return idsOf(await caller.call('searchSpaces', { q, ...inputs }));
}

export const search: Scenario[] = [
  {
    operation: 'searchSpaces',
    sentence: 'finds spaces whose title and description together contain every word',
    rule: 'Returns public spaces whose title and description together contain every word of `q`.',
    async run({ user, anonymous, word }) {
      const ada = await user();
      const [first, second] = [word(), word()];
      const space = await createSpace(ada, {
        title: `About ${first}`,
        description: `And ${second}!`,
      });
      await createSpace(ada, { title: first });
      const exact = { as_typed: true };
      const { space_id } = space;
      equal(
        await found(anonymous, `${first} ${second}`, exact),
        [space_id],
        'Spaces with both words',
      );
      equal(
        await found(anonymous, `${second}, ${first}`, exact),
        [space_id],
        'Spaces with both words, in another order',
      );
      equal((await found(anonymous, first)).length, 2, 'Number of spaces with the first word');
      equal(
        await found(anonymous, first.slice(0, -2), exact),
        await found(anonymous, first),
        'Spaces with the beginning of the word',
      );
      equal(
        await found(anonymous, `${first.slice(0, -2)} ${second.slice(0, -2)}`, exact),
        [space_id],
        'Spaces with the beginnings of both words',
      );
      equal(await found(anonymous, second.slice(2), exact), [], 'Spaces with the end of the word');
      equal(
        await found(anonymous, `${first} ${word()}`, exact),
        [],
        'Spaces with a word that no space has',
      );
      equal(
        await found(anonymous, second.toUpperCase(), exact),
        [space_id],
        'Spaces with the word in capitals',
      );
      const [result] = await anonymous.call('searchSpaces', { q: second });
      const {
        created_at: _,
        invitation_code: __,
        participation: ___,
        posting: ____,
        ...shown
      } = space;
      equal(result, shown, 'The result');
    },
  },
  {
    operation: 'searchSpaces',
    sentence: 'ignores case, width, punctuation and accents, but not + and #',
    rule: '`andre` finds *André*, `strasse` finds *Straße*.',
    async run({ user, anonymous, word }) {
      const ada = await user();
      const own = word();
      const texts = ['André Straße', 'c++', 'c#', '.net', 'sourdough', '東京都庁', 'ＷＩＤＥ'];
      const ids = new Map<string, string>();
      for (const text of texts) {
        const { space_id } = await createSpace(ada, { title: `${own} ${text}` });
        ids.set(text, space_id);
      }
      for (const [q, text] of [
        ['andre', 'André Straße'],
        ['strasse', 'André Straße'],
        ['ANDRÉ, (straße)', 'André Straße'],
        ['c++', 'c++'],
        ['c#', 'c#'],
        ['.net', '.net'],
        ['sour dough', 'sourdough'],
        ['京都', '東京都庁'],
        ['wide', 'ＷＩＤＥ'],
      ] as const) {
        equal(
          (await found(anonymous, `${own} ${q}`))[0],
          ids.get(text),
          `The first space for ${q}`,
        );
      }
      equal(
        await found(anonymous, `${own} c++`, { as_typed: true }),
        [ids.get('c++')],
        'Spaces with c++',
      );
      equal(
        await found(anonymous, `${own} c#`, { as_typed: true }),
        [ids.get('c#')],
        'Spaces with c#',
      );
    },
  },
  {
    operation: 'searchSpaces',
    sentence: 'equal titles are first, then popular spaces, then new ones',
    rule: 'spaces whose title equals `q` are first, then other matches of `q`',
    async run({ users, anonymous, word }) {
      const [ada, grace] = (await users(2)) as [User, User];
      const own = word();
      const first = await createSpace(ada, { title: `the ${own}` });
      const equalTitle = await createSpace(ada, { title: own });
      const popular = await createSpace(ada, { title: `popular ${own}` });
      const last = await createSpace(ada, { title: `last ${own}` });
      const described = await createSpace(ada, { title: 'Other', description: own });
      await join(popular, grace);
      const expected = idsOf([equalTitle, popular, last, first, described]);
      equal(await found(anonymous, own), expected, 'The order of the results');
      equal(await found(ada, own), expected, 'The order with a token');
      const page = await anonymous.call('listSpaces', { q: own });
      equal(
        [idsOf(page.items), page.answered_query],
        [expected, null],
        'The order of listSpaces, and answered_query',
      );
    },
  },
  {
    operation: 'searchSpaces',
    sentence: 'without a match, another query is answered and named, unless as_typed is true',
    rule: 'The response\nheader `Answered-Query` contains the other query.',
    async run({ user, anonymous, word }) {
      const ada = await user();
      const own = word();
      const { space_id } = await createSpace(ada, { title: `About ${own}` });
      const q = `what ${own}`;
      const { body, headers } = await anonymous.exchange('searchSpaces', { q });
      equal(idsOf(body as { space_id: string }[]), [space_id], 'Spaces without the stop word');
      const answered = headers.get('answered-query');
      require(answered !==
        null, 'Answered-Query is missing, although no space matches the query as typed');
      require(decodeURIComponent(answered).includes(own), `Answered-Query is ${answered}`);
      equal(
        (await anonymous.call('listSpaces', { q })).answered_query,
        decodeURIComponent(answered),
        'answered_query',
      );
      equal(await found(anonymous, q, { as_typed: true }), [], 'Spaces with as_typed=true');
      equal(
        (await anonymous.call('listSpaces', { q, as_typed: true })).items,
        [],
        'Spaces of listSpaces with as_typed=true',
      );
      const typed = await anonymous.exchange('searchSpaces', { q: own });
      equal(
        typed.headers.get('answered-query'),
        null,
        'Answered-Query of a query with enough matches or no other query',
      );
    },
  },
  {
    operation: 'searchSpaces',
    sentence: 'a blank query finds nothing, and no text is a syntax error',
    rule: 'A blank `q` returns an empty array.',
    async run({ anonymous, word }) {
      for (const q of ['', ' ', '\t\u3000'])
        equal(await found(anonymous, q), [], 'Results of a blank query');
      for (const q of [
        '"',
        '(',
        '%_*',
        "' OR 1=1 --",
        '\\',
        'a AND',
        '-',
        '#',
        '🙂',
        word().repeat(8),
      ]) {
        await found(anonymous, q);
      }
      await anonymous.refused('searchSpaces', {}, 'invalid_request');
      await anonymous.refused('searchSpaces', { q: 'x', as_typed: 'perhaps' }, 'invalid_request');
      // Unknown query parameters are ignored.
      const { status } = await anonymous.exchange(
        'searchSpaces',
        { q: word() },
        { query: { utm_source: 'x' } },
      );
      equal(status, 200, 'Status with an unknown query parameter');
    },
  },
  {
    operation: 'searchSpacesByTag',
    sentence: 'the whole tag must match, in any spelling',
    rule: 'The whole tag name must match. Case, character width, a\nleading `#`, and accents on Latin, Greek and Cyrillic letters are ignored.',
    async run({ users, anonymous, word }) {
      const [ada, ...others] = (await users(4)) as [User, ...User[]];
      const own = word();
      const tag = `Café ${own} c++/%`;
      const older = await createSpace(ada, { tags: [tag] });
      const popular = await createSpace(ada, { tags: ['x', tag.toUpperCase()] });
      const newest = await createSpace(ada, { tags: [`${own}x`, tag] });
      await createSpace(ada, { tags: [own] });
      await join(popular, ...others);
      const expected = idsOf([popular, newest, older]);
      for (const spelling of [
        tag,
        tag.toLowerCase(),
        `#${tag}`,
        `cafe ${own} C++/%`,
        `ｃafé ${own} c++/%`,
      ]) {
        equal(
          idsOf(await anonymous.call('searchSpacesByTag', { tag: spelling })),
          expected,
          `Spaces with the tag ${spelling}`,
        );
        equal(
          idsOf((await anonymous.call('listSpaces', { tag: spelling })).items),
          expected,
          `Spaces of listSpaces with the tag ${spelling}`,
        );
      }
      const [, result] = await anonymous.call('searchSpacesByTag', { tag });
      equal(
        result?.tags.map(({ tag_name }) => tag_name),
        [`${own}x`, tag],
        'The tags of the result',
      );
      for (const other of [`${own}x${own}`, `Café ${own}`, `${tag}x`, 'x'.repeat(300)]) {
        equal(
          await anonymous.call('searchSpacesByTag', { tag: other }),
          [],
          'Spaces with another tag',
        );
      }
    },
  },
  {
    operation: 'searchSpacesByTag',
    sentence: 'the tags of the test vectors match each other as stated',
    rule: 'Of tags that match each other in the tag search, such as `tea` and\n`Tea`, only the first is kept.',
    async run({ user }) {
      const ada = await user();
      for (const { first, second, same } of tags.cases) {
        const space = await createSpace(ada, { tags: [first, second] });
        equal(
          space.tags.length,
          same ? 1 : 2,
          `Number of tags of a space with ${first} and ${second}`,
        );
      }
    },
  },
  {
    operation: 'listTags',
    sentence: 'counts the public spaces of a tag, and completes its beginning',
    rule: 'Number of public spaces with the tag',
    async run({ users, anonymous, word }) {
      const [ada, other] = (await users(2)) as [User, User];
      const prefix = word().slice(0, 18);
      const [tea, coffee] = [`${prefix} Tea`, `${prefix} coffee`];
      const first = await createSpace(ada, { tags: [coffee, tea] });
      const second = await createSpace(other, { tags: [tea.toLowerCase()] });
      await createSpace(other, { tags: [tea], visibility: 'private' });
      const counts = async (inputs: Inputs = { prefix }) =>
        (await anonymous.call('listTags', inputs)).items.map(({ tag_name, space_count }) => [
          tag_name.toLowerCase(),
          space_count,
        ]);
      equal(
        await counts(),
        [
          [tea.toLowerCase(), 2],
          [coffee, 1],
        ],
        'Tags with their space_count',
      );
      equal(
        await counts({ prefix: `#${prefix.toUpperCase()} T` }),
        [[tea.toLowerCase(), 2]],
        'Tags with a longer prefix',
      );
      const [ofTag] = (await anonymous.call('listTags', { prefix: tea })).items;
      const ofSpaces = [first.tags[1]?.tag_id, second.tags[0]?.tag_id];
      equal(ofSpaces, [ofTag?.tag_id, ofTag?.tag_id], 'tag_id in spaces');
      await other.call('updateSpace', { space_id: second.space_id, visibility: 'private' });
      equal(
        await counts({ prefix: tea }),
        [[tea.toLowerCase(), 1]],
        'Tags after a space became private',
      );
      await ada.call('updateSpace', { space_id: first.space_id, tags: [coffee] });
      equal(await counts(), [[coffee, 1]], 'Tags after one was removed');
      await ada.call('deleteSpace', { space_id: first.space_id });
      equal(await counts(), [], 'Tags after the deletion of the space');
      equal(
        (await anonymous.call('listTags', { limit: 100 })).items.every(
          ({ space_count }) => space_count > 0,
        ),
        true,
        'Whether all tags have spaces',
      );
    },
  },
  {
    operation: 'listSpaces',
    sentence: 'says in which spaces the caller participates, in each list',
    rule: 'With a token, `participation` says in which of the spaces the caller participates.',
    async run({ users, anonymous, word }) {
      const [ada, ben] = (await users(2)) as [User, User];
      const own = word();
      const { space_id } = await createSpace(ada, { title: own, tags: [own] });
      const { joined_at } = await ben.call('joinSpace', { space_id });
      const participations = async (caller: Caller) => {
        const lists = [{ q: own }, { tag: own }, { sort: 'newest', limit: 100 }];
        const pages = [];
        for (const inputs of lists) pages.push(await caller.call('listSpaces', inputs));
        return pages.map(
          ({ items }) => items.find((each) => each.space_id === space_id)?.participation,
        );
      };
      const same = <T>(value: T) => [value, value, value];
      equal(
        await participations(ben),
        same({ joined_at, role: 'participant' }),
        'participation of a participant',
      );
      equal(await participations(anonymous), same(null), 'participation without a token');
      await ben.call('leaveSpace', { space_id });
      equal(await participations(ben), same(null), 'participation of a former participant');
    },
  },
  {
    operation: 'listSpaces',
    sentence: 'contains all public spaces, the newest or the popular ones first',
    rule: '- `sort=newest` returns all public spaces, newest first.',
    async run({ user, anonymous }) {
      const ada = await user();
      const spaces = [await createSpace(ada), await createSpace(ada)];
      const hidden = await createSpace(ada, { visibility: 'private' });
      const list = await anonymous.call('listSpaces', { sort: 'newest', limit: 100 });
      const own = idsOf(list.items).filter((id) => idsOf([...spaces, hidden]).includes(id));
      equal(own, idsOf(spaces).reverse(), 'The newest spaces');
      // On pages of one, too. Spaces of others may come before and between them.
      const found: string[] = [];
      let cursor: string | null | undefined;
      while (found.length < spaces.length && cursor !== null) {
        const page = await anonymous.call('listSpaces', { sort: 'newest', limit: 1, cursor });
        found.push(...idsOf(page.items).filter((id) => idsOf(spaces).includes(id)));
        cursor = page.next_cursor;
      }
      equal(found, idsOf(spaces).reverse(), 'The newest spaces on pages of one');
      for (const sort of ['newest', 'popular']) {
        const { items } = await anonymous.call('listSpaces', { sort, limit: 100 });
        require(items.every(
          ({ visibility }) => visibility === 'public',
        ), 'listSpaces contains a private space');
        equal(
          (await ada.call('listSpaces', { sort, limit: 1 })).items.length,
          1,
          'Number of items with a token',
        );
      }
    },
  },
  {
    operation: 'listSpaces',
    sentence: 'accepts one of q, tag and sort, and as_typed only with q',
    rule: 'Use at most one of `q`, `tag` and `sort`; two of them together get 400.',
    async run({ anonymous }) {
      const invalid: Inputs[] = [
        { q: 'x', tag: 'x' },
        { q: 'x', sort: 'newest' },
        { tag: 'x', sort: 'popular' },
        { as_typed: true },
        { sort: 'oldest' },
      ];
      for (const inputs of invalid)
        await anonymous.refused('listSpaces', inputs, 'invalid_request');
      for (const inputs of [{}, { sort: 'popular' }, { sort: 'newest' }])
        await anonymous.call('listSpaces', inputs);
    },
  },
];
