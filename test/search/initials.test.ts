import { afterAll, beforeAll, expect, test } from 'vitest';
import { newBudget } from '../../server/search/budget.ts';
import type { Alternative } from '../../server/search/interpretation.ts';
import { withInitials } from '../../server/search/rules/initials.ts';
import { type GeneratedIndex, generateIndex, viewed } from './generated-index.ts';

const TEXTS = [
  ['TOC', 'Table of contents'],
  ['Table of Contents (TOC)', ''],
  ['Outline', 'A toc for your notes'],
  ['Speech', 'TTS: text to speech'],
  ['OCR', 'optical character recognition'],
  ['Scanner', 'Optical character recognition (OCR)'],
  ['Optics', 'Character recognition, optical OCR'],
  ['Translations', 'internationalization (i18n)'],
  ['i18n', 'Internationalization for apps'],
  ['Was', 'Walk and see'],
  ['Wasted', 'was wide and slow'],
  ['Harness', 'The test harness engine'],
  ['Engine', 'Runs the test harness engine'],
  ['Pets', 'cat: care and training'],
  ['Cat', 'care and training'],
  ...Array.from({ length: 48 }, (_, i) => [`Cat ${i}`, '']),
] as const;

let index: GeneratedIndex;

beforeAll(async () => {
  index = await generateIndex(
    TEXTS.map(([title, description], i) => ({ pk: i + 1, title, description, participants: 1 })),
  );
});
afterAll(() => index[Symbol.asyncDispose]());

const initials = async (...words: string[]) => {
  const { resources, dictionary } = index;
  const alternatives = words.map((word): Alternative => [[word], []]);
  const found = await viewed(resources, ({ db }) =>
    withInitials({ resources, db, dictionary }, alternatives, newBudget()),
  );
  return found?.words;
};

test('finds the meaning of initials that two spaces have with it', async () => {
  expect(await initials('toc', 'notes')).toEqual([
    [['toc', 'table of contents'], []],
    [['notes'], []],
  ]);
  expect(await initials('ocr')).toEqual([[['ocr', 'optical character recognition'], []]]);
  expect(await initials('tts')).toBeUndefined();
});

test('finds the initials of adjacent words', async () => {
  expect(await initials('fast', 'optical', 'character', 'recognition')).toEqual([
    [['fast'], []],
    [['optical character recognition'], ['ocr']],
  ]);
  expect(await initials('character', 'recognition', 'optical')).toBeUndefined();
  expect(await initials('text', 'to', 'speech')).toBeUndefined();
});

test('finds the word that a number abbreviates, and vice versa', async () => {
  expect(await initials('i18n')).toEqual([[['i18n', 'internationalization'], []]]);
  expect(await initials('internationalization')).toEqual([[['internationalization'], ['i18n']]]);
});

test('finds no stop word for adjacent words', async () => {
  expect(await initials('test', 'harness', 'engine')).toBeUndefined();
});

test('finds no meaning of stop words, nor one that less than 5% of the spaces have', async () => {
  expect(await initials('was')).toBeUndefined();
  expect(await initials('cat')).toBeUndefined();
});
