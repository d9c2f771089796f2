import type { Space } from '../../generated/types.gen.ts';
import type { TestApp } from './app.ts';
import type { TestUser } from './client.ts';
import { waitForDictionary } from './dictionary.ts';
import { createSpace, joinSpace } from './spaces.ts';

const TITLES = [
  'Tea',
  'tea!',
  'Green tea',
  'Teahouse',
  'Tea & cake',
  'Cake',
  'Coffee',
  'Tea tasting',
  '茶道',
  '茶道と花道',
  '道茶',
  '花道 茶道',
  'Teacher’s cake',
  'Ｔｅａ',
  'Tastes',
  'House of tea',
];
const DESCRIPTIONS = ['', 'Tea for everyone.', 'With cake and 茶道.', '道茶道', 'No teabags.'];

interface TeaSpaces {
  /** Created most of the spaces. */
  ann: TestUser;
  /** The first one created the other spaces. */
  guests: TestUser[];
  /** Four spaces with each title, the oldest first. */
  spaces: Space[];
}

/** Creates spaces for searches with several pages, and waits until the dictionary contains their words. */
export async function createTeaSpaces(app: TestApp): Promise<TeaSpaces> {
  const ann = await app.register('ann');
  const guests: TestUser[] = [];
  // One by one, because passwords of many concurrent registrations wait too long on a busy machine.
  for (let i = 0; i < 22; i += 1) guests.push(await app.register());
  const spaces: Space[] = [];
  for (const [i, title] of [...TITLES, ...TITLES, ...TITLES, ...TITLES].entries()) {
    const space = await createSpace(i % 3 ? ann : (guests[0] as TestUser), {
      title,
      description: DESCRIPTIONS[(i * 7) % DESCRIPTIONS.length] as string,
      tags: i % 4 ? ['everything', 'most'] : ['everything'],
    });
    // Some spaces are so popular that they come before others with the word in the title.
    const popularity = i % 9 === 4 ? guests.length : (i * 11) % 6;
    for (const guest of guests.slice(0, popularity)) await joinSpace(guest, space);
    spaces.push(space);
  }
  await waitForDictionary(app);
  return { ann, guests, spaces };
}
