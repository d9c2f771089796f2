import { readFileSync } from 'node:fs';
import { type CommandName, command, commands, isPackaged } from './commands.ts';

/** Returns a list of all commands. */
export function overview(): string {
  const names = Object.keys(commands) as CommandName[];
  const width = Math.max(...names.map((name) => name.length)) + 2;
  const rows = names.map((name) => `  ${name.padEnd(width)}${command(name).summary}`);
  return [
    'Usage: space-service COMMAND',
    '',
    ...rows,
    '',
    'space-service COMMAND --help explains one of them. space-service --version prints the version.',
  ].join('\n');
}

/** Returns the text to type in a shell to run a command. */
export function commandLine(name: CommandName, ...words: string[]): string {
  if (isPackaged) return ['space-service', name, ...words].join(' ');
  const separator = words.length > 0 ? ['--'] : [];
  return ['npm run', name, ...separator, ...words].join(' ');
}

export function usageOf(name: CommandName): string {
  const { positionals, flags = {} } = command(name);
  const words = [positionals, ...Object.keys(flags).map((flag) => `[--${flag}]`)].filter(Boolean);
  return `Usage: ${commandLine(name, ...words)}`;
}

export function helpOf(name: CommandName): string {
  const { summary, details, flags = {} } = command(name);
  const lines = [usageOf(name), '', summary];
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
