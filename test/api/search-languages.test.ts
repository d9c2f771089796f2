import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult } from '../../generated/types.gen.ts';
import { startApp } from '../support/app.ts';
import { readPages } from '../support/pages.ts';
import { createSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

describe('Every language', () => {
  /** Titles and descriptions. */
  const spaces = {
    'Gardening for beginners': 'Soil, seeds and patience.',
    'Who’s who?': 'Names, faces, and the who: songs.',
    'Wi-Fi help': 'Routers and repeaters.',
    'D&D on Fridays': 'Dragons, dice, dinner.',
    'Große Straße': 'Häuser, Höfe, Donau\u00ADdampf\u00ADschiffe.',
    'Café André': 'Crème brûlée et œufs.',
    'L’eau vive': 'Rivières, lacs et histoire de l’art.',
    'Col·lecció d’estiu': 'Platges i pobles.',
    'Łódź nocą': 'Zażółć gęślą jaźń.',
    'København på cykel': 'Broer og smørrebrød.',
    'Þórður og Æsa': 'Sögur að vestan.',
    'İstanbul’da yaşam': 'IŞIK ve deniz.',
    'Đà Nẵng': 'Phở và bánh mì ở Việt Nam.',
    Hawaiʻi: 'Aloha.',
    'Ελληνική κουζίνα': 'ΜΟΥΣΑΚΑΣ στην οδό Ερμού, προϊόντα.',
    'Ёлка и чай': 'Москва, Андрей и друзья.',
    'М’ята і липа': 'Їжа та напої.',
    'مُحَمَّد يقرأ': 'كتب ومكتبات ســلام.',
    'می‌خواهم بنویسم': 'داستان کوتاه.',
    'שָׁלוֹם לכולם': 'צה״ל ומוזיקה.',
    'हिन्दी सीखें': 'क़लम और काग़ज़।',
    'தமிழ் இலக்கியம்': 'கவிதை, கதை.',
    'বাংলা গান': 'রবীন্দ্রসংগীত।',
    'ქართული ენა': 'ანბანი.',
    'Հայոց լեզու': 'Այբուբեն։',
    'አማርኛ መማር': 'ፊደል።',
    'བོད་ཡིག': 'སློབ་སྦྱོང་།',
    เรียนภาษาไทยกัน: 'แม่น้ำเจ้าพระยา',
    ພາສາລາວ: 'ສະບາຍດີ',
    ភាសាខ្មែរ: 'សូម\u200Bស្វាគមន៍',
    မြန်မာစာ: 'စကားပြော',
    東京都の歴史: '江戸から今まで',
    京都東京の旅: '新幹線で二時間',
    西日本: '京都、東京都、大阪を巡る',
    'スター・ウォーズ': '機動戦士ガンダムも',
    机器学习课程: '从零开始，每周一次',
    iPhone手机壳: '列奥纳多·达·芬奇的画',
    '한국어를 배우자': '리액트React를 써요',
    K팝: '아이돌 이야기',
    'Modern C++': 'Templates; C# and .NET for comparison.',
    'Node.js at night': 'foo_bar, example.com and v1.2.',
    'COVID-19 diaries': 'Since 2020: 3.14 and 1,000 fans.',
    'Pride 🏳️‍🌈': 'Yes👍🏽! 🇫🇷🇩🇪 ❤️',
    'Women who code 👩🏾‍💻': 'Évery Tuesday.',
    'Ｆｕｌｌ　ｗｉｄｔｈ': 'ｶﾞﾝﾀﾞﾑ',
  } as const;

  const app = useApp();
  beforeAll(async () => {
    const user = await app.register();
    for (const [title, description] of Object.entries(spaces)) {
      await createSpace(user, { title, description });
    }
  });

  type Title = keyof typeof spaces;
  /** Each query finds exactly these spaces. */
  const rows: [language: string, query: string, ...found: Title[]][] = [
    ['English', 'garden', 'Gardening for beginners'],
    ['English', 'arden'],
    ['English', 'BEGINNERS soil', 'Gardening for beginners'],
    ['English', 'whos', 'Who’s who?'],
    ['English', "who's", 'Who’s who?'],
    ['English', 'wifi', 'Wi-Fi help'],
    ['English', 'wi fi', 'Wi-Fi help'],
    ['English', 'd&d', 'D&D on Fridays'],
    ['German', 'strasse', 'Große Straße'],
    ['German', 'GROẞE STRAẞE', 'Große Straße'],
    ['German', 'hofe', 'Große Straße'],
    ['German', 'donaudampf', 'Große Straße'],
    ['French', 'cafe andre', 'Café André'],
    ['French', 'oeuf', 'Café André'],
    ['French', 'CREME BRULEE', 'Café André'],
    ['French', 'eau', 'L’eau vive'],
    ['French', "l'histoire", 'L’eau vive'],
    ['Catalan', 'col·lecció', 'Col·lecció d’estiu'],
    ['Catalan', 'colleccio', 'Col·lecció d’estiu'],
    ['Polish', 'lodz noca', 'Łódź nocą'],
    ['Polish', 'zazolc gesla jazn', 'Łódź nocą'],
    ['Danish', 'kobenhavn smorrebrod', 'København på cykel'],
    ['Icelandic', 'thordur aesa', 'Þórður og Æsa'],
    ['Turkish', 'istanbul', 'İstanbul’da yaşam'],
    ['Turkish', 'ışık', 'İstanbul’da yaşam'],
    ['Turkish', 'ISIK', 'İstanbul’da yaşam'],
    ['Vietnamese', 'da nang', 'Đà Nẵng'],
    ['Vietnamese', 'Phở Việt'.normalize('NFD'), 'Đà Nẵng'],
    ['Hawaiian', "hawai'i", 'Hawaiʻi'],
    ['Hawaiian', 'hawaii', 'Hawaiʻi'],
    ['Greek', 'ελληνικη', 'Ελληνική κουζίνα'],
    ['Greek', 'μουσακας ΟΔΟ', 'Ελληνική κουζίνα'],
    ['Greek', 'προιοντα', 'Ελληνική κουζίνα'],
    ['Russian', 'елка', 'Ёлка и чай'],
    ['Russian', 'МОСКВ андреи', 'Ёлка и чай'],
    ['Russian', 'ква'],
    ['Ukrainian', "м'ята", 'М’ята і липа'],
    ['Ukrainian', 'їжа', 'М’ята і липа'],
    ['Arabic', 'محمد', 'مُحَمَّد يقرأ'],
    ['Arabic', 'سلام', 'مُحَمَّد يقرأ'],
    ['Persian', 'میخواهم', 'می‌خواهم بنویسم'],
    ['Hebrew', 'שלום', 'שָׁלוֹם לכולם'],
    ['Hebrew', 'צה"ל', 'שָׁלוֹם לכולם'],
    ['Hindi', 'हिन्दी', 'हिन्दी सीखें'],
    ['Hindi', 'क\u093Cलम', 'हिन्दी सीखें'],
    ['Hindi', 'कलम', 'हिन्दी सीखें'],
    ['Tamil', 'இலக்கிய', 'தமிழ் இலக்கியம்'],
    ['Bengali', 'রবীন্দ্র', 'বাংলা গান'],
    ['Georgian', 'ქართ', 'ქართული ენა'],
    ['Georgian', 'ᲥᲐᲠᲗᲣᲚᲘ', 'ქართული ენა'],
    ['Armenian', 'ՀԱՅՈՑ', 'Հայոց լեզու'],
    ['Amharic', 'አማርኛ', 'አማርኛ መማር'],
    ['Tibetan', 'ཡིག', 'བོད་ཡིག'],
    ['Thai', 'ไทย', 'เรียนภาษาไทยกัน'],
    ['Thai', 'น้ำ', 'เรียนภาษาไทยกัน'],
    ['Thai', 'ไทยภาษา'],
    ['Lao', 'ລາວ', 'ພາສາລາວ'],
    ['Khmer', 'ខ្មែរ', 'ភាសាខ្មែរ'],
    ['Khmer', 'សូមស្វាគមន៍', 'ភាសាខ្មែរ'],
    ['Burmese', 'စာ', 'မြန်မာစာ'],
    ['Japanese', '東京都', '東京都の歴史', '西日本'],
    ['Japanese', '京都', '京都東京の旅', '東京都の歴史', '西日本'],
    ['Japanese', '京都東京', '京都東京の旅'],
    ['Japanese', '都', '京都東京の旅', '東京都の歴史', '西日本'],
    ['Japanese', '歴史 江戸', '東京都の歴史'],
    ['Japanese', 'スターウォーズ', 'スター・ウォーズ'],
    ['Japanese', 'ウォーズスター'],
    ['Japanese', 'ガンダム', 'Ｆｕｌｌ　ｗｉｄｔｈ', 'スター・ウォーズ'],
    ['Chinese', '学习', '机器学习课程'],
    ['Chinese', '习学'],
    ['Chinese', 'iphone 手机', 'iPhone手机壳'],
    ['Chinese', '达芬奇', 'iPhone手机壳'],
    ['Korean', '한국', '한국어를 배우자'],
    ['Korean', '한국어'.normalize('NFD'), '한국어를 배우자'],
    ['Korean', '국어'],
    ['Korean', 'react', '한국어를 배우자'],
    ['Korean', 'k팝', 'K팝'],
    ['code', 'c++', 'Modern C++'],
    ['code', 'c#', 'Modern C++'],
    ['code', '.net', 'Modern C++'],
    ['code', 'f#'],
    ['code', 'nodejs', 'Node.js at night'],
    ['code', 'js', 'Node.js at night'],
    ['code', 'foo_bar', 'Node.js at night'],
    ['code', 'example.com', 'Node.js at night'],
    ['numbers', 'covid19', 'COVID-19 diaries'],
    ['numbers', '3.14', 'COVID-19 diaries'],
    ['numbers', '1000', 'COVID-19 diaries'],
    ['numbers', '2021'],
    ['emoji', '🏳️‍🌈', 'Pride 🏳️‍🌈'],
    ['emoji', '👍', 'Pride 🏳️‍🌈'],
    ['emoji', '🇩🇪', 'Pride 🏳️‍🌈'],
    ['emoji', '🇷🇩'],
    ['emoji', '❤', 'Pride 🏳️‍🌈'],
    ['emoji', '👩‍💻', 'Women who code 👩🏾‍💻'],
    ['emoji', '💻', 'Women who code 👩🏾‍💻'],
    ['full width', 'full width', 'Ｆｕｌｌ　ｗｉｄｔｈ'],
    ['full width', 'ｗｏｍｅｎ　ｅｖｅｒｙ', 'Women who code 👩🏾‍💻'],
  ];

  test.each(rows.map(([language, q, ...expected]) => ({ language, q, expected })))(
    '$language: $q finds $expected',
    async ({ q, expected }) => {
      const options = { client: app.client(), throwOnError: true } as const;
      const query = { q, limit: 100 };
      const { data: typed } = await api.searchSpaces({
        ...options,
        query: { ...query, as_typed: true },
      });
      expect(new Set(typed.map(({ title }) => title))).toEqual(new Set(expected));
      const { data: all } = await api.searchSpaces({ ...options, query });
      expect(all.slice(0, typed.length)).toEqual(typed);
    },
  );
});

test('A run of an unspaced script is found by its characters in the same order', async () => {
  await using app = await startApp();
  const user = await app.register();
  const titles = (results: SearchResult[]) => results.map(({ title }) => title);
  const found = async (q: string, as_typed = false) => {
    const query = { q, as_typed, limit: 100 };
    const { data } = await api.searchSpaces({ client: app.client(), query, throwOnError: true });
    return titles(data);
  };
  for (const [title, description] of [
    ['南北町', 'A town.'],
    ['北町南北', 'Its parts in another order.'],
    ['北町と南北', 'Its parts.'],
    ['北町南北。', 'In the title wrong, in the description right: 南北町.'],
    ['Town', '北町南北'],
    ['Village', 'Near 大南北町通り'],
    ['南北町通り', ''],
  ] as const) {
    await createSpace(user, { title, description });
  }
  const expected = ['南北町', '南北町通り', 'Village', '北町南北。'];
  expect(await found('南北町', true)).toEqual(expected);
  const path = '/api/spaces/search?as_typed=true&q=南北町&limit=1';
  const pages = await readPages<SearchResult>(app, path);
  expect(pages.flatMap(titles)).toEqual(expected);
  expect(await found('南北町 town', true)).toEqual(['南北町']);
  expect(await found('town 南北町', true)).toEqual(['南北町']);
  expect(await found('北町南', true)).toEqual(['北町南北。', '北町南北', 'Town']);
  // Without as_typed, spaces with its words in any order follow.
  const others = ['北町と南北', '北町南北', 'Town'];
  expect(await found('南北町')).toEqual([...expected, ...others]);
  const allPages = await readPages<SearchResult>(app, '/api/spaces/search?q=南北町&limit=1');
  expect(allPages.flatMap(titles)).toEqual([...expected, ...others]);
});
