import { readFileSync } from 'node:fs';
import type { CommandEntry } from './command.ts';

/** Whether this module is compiled, as in the npm package. The repository has no compiled modules. */
export const isPackaged = import.meta.filename.endsWith('.js');

/** Returns a list of all commands. */
export function overview(commands: Readonly<Record<string, CommandEntry>>): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length)) + 2;
  const rows = Object.entries(commands).map(
    ([name, { summary }]) => `  ${name.padEnd(width)}${summary}`,
  );
  return [
    'Usage: space-service COMMAND',
    '',
    ...rows,
    '',
    'space-service COMMAND --help explains one of them. space-service --version prints the version.',
  ].join('\n');
}

/** @param name empty if no command was given */
export function explainUnknownCommand(name: string): string {
  const problem = name === '' ? 'No command' : `Unknown command ${JSON.stringify(name)}`;
  return `${problem}. Run "space-service --help" to list the commands.`;
}

/** Returns the text to type in a shell to run a command. */
export function commandLine(name: string, ...words: string[]): string {
  if (isPackaged) return ['space-service', name, ...words].join(' ');
  const separator = words.length > 0 ? ['--'] : [];
  return ['npm run', name, ...separator, ...words].join(' ');
}

/** Returns the lines to print after the reason why arguments are wrong. */
export function usageHint(name: string, entry: CommandEntry): string {
  const isServer = name === 'start' || name === 'demo';
  const hint = `It takes no arguments. Settings are environment variables: PORT=8080 ${commandLine(name)}`;
  return isServer ? `${usageOf(name, entry)}\n${hint}` : usageOf(name, entry);
}

function usageOf(name: string, { positionals, flags = {} }: CommandEntry): string {
  const words = [positionals, ...Object.keys(flags).map((flag) => `[--${flag}]`)].filter(Boolean);
  return `Usage: ${commandLine(name, ...words)}`;
}

export function helpOf(name: string, entry: CommandEntry): string {
  const { summary, details, flags = {} } = entry;
  const lines = [usageOf(name, entry), '', summary];
  if (details) lines.push(details);
  for (const [flag, description] of Object.entries(flags)) {
    lines.push('', `  --${flag}  ${description}`);
  }
  if (name === 'start') lines.push('', settings());
  return lines.join('\n');
}

/** Returns the settings in `.env.example`, without the instructions at its top. */
function settings(): string {
  const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
  return text.slice(text.indexOf('\n\n')).trim();
}
