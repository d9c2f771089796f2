import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { composeMail } from '../../server/mail/message.ts';
import { isLink, LINK_KINDS, NOTICE_KINDS } from '../../server/mail/outbox.ts';
import { readMailTexts } from '../../server/mail/texts.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mail-texts-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const KINDS = [...LINK_KINDS, ...NOTICE_KINDS];
const settings = { siteName: 'Tea & <Cake>', from: 'a@b.example', webUrl: 'https://web.example' };

test('all texts of the service render, in each language', () => {
  const texts = readMailTexts(null);
  const files = readdirSync('server/mail/texts');
  expect(files.sort()).toEqual(
    texts.languages.flatMap((language) => KINDS.map((kind) => `${kind}.${language}.txt`)).sort(),
  );
  for (const language of texts.languages) {
    for (const kind of KINDS) {
      const claimed = { pk: 1, mailId: 'id', kind, language, attempts: 1, createdAt: '' };
      const token = isLink(kind) ? 'spm_x' : null;
      const mail = composeMail({ ...claimed, address: 'ann@example.com', token }, texts, settings);
      expect(mail.subject).toContain('Tea & <Cake>');
      expect(mail.text).not.toMatch(/[{}]/);
      expect(mail.html).toContain('Tea &amp; &lt;Cake&gt;');
      expect(mail.text.includes('https://web.example/#/')).toBe(token !== null);
      expect(String(mail.html).includes('<a href="https://web.example/#/')).toBe(token !== null);
    }
  }
});

test('texts of the operator replace those of the service, and add languages', () => {
  writeFileSync(join(folder, 'password-reset.en.txt'), 'Own {{site}}\r\n\r\nHere:\r\n{{link}}\r\n');
  writeFileSync(join(folder, 'password-reset.pt-BR.txt'), 'Senha\n\n{{{link}}}');
  const { languages, render } = readMailTexts(folder);
  expect(languages).toEqual(['en', 'de', 'pt-BR']);
  const values = { site: 'S', link: 'L' };
  expect(render('password-reset', 'en', values)).toEqual({ subject: 'Own S', body: 'Here:\nL' });
  expect(render('password-reset', 'pt-BR', values)).toEqual({ subject: 'Senha', body: 'L' });
  // The default language has all texts.
  expect(render('password-changed', 'pt-BR', values).subject).toBe(
    'Your password at S has changed',
  );
});

test.each([
  ['reset.en.txt', 'S\n\n{{link}}', 'is not named <kind>.<language>.txt'],
  ['password-reset.en.txt', 'S\n{{link}}', 'must begin with the subject and an empty line'],
  ['password-reset.en.txt', 'S\n\nNothing', 'has no {{link}}'],
  ['password-reset.en.txt', '{{link}}\n\n{{link}}', 'has {{link}} in its subject'],
  ['password-changed.en.txt', 'S\n\n{{link}}', 'has {{link}}, but this mail has none'],
  ['password-reset.en.txt', 'S\n\n{{link}} {{username}}', 'uses {{username}}'],
  ['password-reset.en.txt', 'S\n\n{{link', 'is malformed'],
])('the text %s with %j is refused', (name, content, reason) => {
  writeFileSync(join(folder, name), content);
  expect(() => readMailTexts(folder)).toThrow(reason);
});

test('a folder that does not exist is refused', () => {
  expect(() => readMailTexts(join(folder, 'missing'))).toThrow('MAIL_TEMPLATES=');
});
