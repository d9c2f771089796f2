import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Mustache from 'mustache';
import { OperatorError } from '../errors.ts';
import { DEFAULT_LANGUAGE, isLink, LINK_KINDS, type MailKind, NOTICE_KINDS } from './outbox.ts';

const KINDS: readonly MailKind[] = [...LINK_KINDS, ...NOTICE_KINDS];

export interface MailText {
  subject: string;
  body: string;
}

/** What a text can contain. */
interface Values {
  site: string;
  /** Empty in a notice. */
  link: string;
}

/** The texts of mail, in one or more languages. */
export interface MailTexts {
  /** The default is first. */
  languages: readonly string[];
  /** Returns a text, in the default language if there is none in the language. */
  render(kind: MailKind, language: string, values: Values): MailText;
}

/**
 * Reads the texts of the service, and those of the operator, which replace or translate them. The name of each file is
 * `<kind>.<language>.txt`. Its first line is the subject, its second line is empty. It can contain the Mustache variables
 * `{{site}}` and `{{link}}`.
 * @param folder of the operator; null if there is none
 * @throws OperatorError if a file cannot be used
 */
export function readMailTexts(folder: string | null): MailTexts {
  const templates = new Map<string, MailText>();
  for (const each of [join(import.meta.dirname, 'texts'), ...(folder === null ? [] : [folder])]) {
    for (const name of listFolder(each)) {
      const [, kind = '', language = ''] = /^(.+)\.([A-Za-z0-9-]+)\.txt$/.exec(name) ?? [];
      const known = KINDS.find((candidate) => candidate === kind);
      if (!known)
        throw invalidText(
          each,
          name,
          `is not named <kind>.<language>.txt, with one of the kinds ${KINDS.join(', ')}`,
        );
      templates.set(`${kind} ${language}`, readTemplate(each, name, isLink(known)));
    }
  }
  const languages = new Set([
    DEFAULT_LANGUAGE,
    ...[...templates.keys()].map((key) => key.split(' ')[1] as string),
  ]);
  return {
    languages: [...languages],
    render(kind, language, values) {
      const template =
        templates.get(`${kind} ${language}`) ?? templates.get(`${kind} ${DEFAULT_LANGUAGE}`);
      if (!template) throw new Error(`There is no text for ${kind}.`);
      return {
        subject: renderText(template.subject, values),
        body: renderText(template.body, values),
      };
    },
  };
}

/** Without escapes, because a text is not HTML. */
function renderText(template: string, values: Values): string {
  return Mustache.render(template, values, undefined, { escape: String });
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.txt'));
  } catch (error) {
    throw new OperatorError(`MAIL_TEMPLATES=${folder} cannot be read. ${(error as Error).message}`);
  }
}

function readTemplate(folder: string, name: string, hasLink: boolean): MailText {
  const text = readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n');
  const [, subject, body] = /^([^\n]+)\n\n(.*\S)\s*$/s.exec(text) ?? [];
  if (subject === undefined || body === undefined) {
    throw invalidText(folder, name, 'must begin with the subject and an empty line');
  }
  const variables = [subject, body].map((each) => variablesOf(folder, name, each));
  if (variables[0]?.includes('link'))
    throw invalidText(folder, name, 'has {{link}} in its subject');
  if (hasLink !== variables[1]?.includes('link')) {
    throw invalidText(
      folder,
      name,
      hasLink ? 'has no {{link}}' : 'has {{link}}, but this mail has none',
    );
  }
  return { subject, body };
}

/** Returns the variables of a template. Rejects other tags, because they would remain empty. */
function variablesOf(folder: string, name: string, template: string): string[] {
  let spans: ReturnType<typeof Mustache.parse>;
  try {
    spans = Mustache.parse(template);
  } catch (error) {
    throw invalidText(folder, name, `is malformed: ${(error as Error).message}`);
  }
  return spans.flatMap(([type, value]) => {
    if (type === 'text') return [];
    if (['name', '&'].includes(type) && ['site', 'link'].includes(value)) return [value];
    throw invalidText(folder, name, `uses {{${value}}}; only {{site}} and {{link}} exist`);
  });
}

function invalidText(folder: string, name: string, fault: string): OperatorError {
  return new OperatorError(`The mail text ${join(folder, name)} ${fault}.`);
}
