interface Command {
  /** The module in `server/`, without its extension. */
  module: string;
  /** The positional arguments as the usage shows them: `FROM TO`, `[OPTIONAL]` or `[ANY_NUMBER…]`. */
  positionals: string;
  /** Descriptions of the flags by their names. */
  flags?: Record<string, string>;
  summary: string;
  details?: string;
  /** Flags of Node.js. */
  nodeFlags?: readonly string[];
}

/** Whether this module is compiled, as in the npm package. The repository has no compiled modules. */
export const isPackaged = import.meta.filename.endsWith('.js');

/** The commands of the program `space-service`. In the repository, each is also an npm script. */
export const commands = {
  start: {
    module: 'main',
    positionals: '',
    summary: 'Starts the server.',
    details: 'Settings are environment variables. Their defaults:',
    nodeFlags: ['--max-semi-space-size=8', '--max-old-space-size=256'],
  },
  demo: {
    module: 'commands/demo',
    positionals: '',
    summary: 'Starts a server with sample data in a temporary folder.',
    details: 'It prints curl commands to paste. It uses HOST and PORT, but no other settings.',
  },
  import: {
    module: 'commands/import',
    positionals: 'FILE.ndjson',
    flags: {
      'skip-bad': 'Imports valid lines and lists the others.',
      'only-new': 'Rejects references to users, spaces and messages from before the import.',
    },
    summary: 'Adds users, spaces and messages to the database in DATA_DIR.',
    details: 'If the file is "-", it reads standard input.',
    nodeFlags: ['--max-semi-space-size=16', '--max-old-space-size=256'],
  },
  export: {
    module: 'commands/export',
    positionals: '[FILE.ndjson]',
    summary: 'Writes all data of the database, except sessions, reports and avatar files.',
    details: isPackaged
      ? 'Without a file, it writes to standard output: (umask 077; space-service export > FILE.ndjson)'
      : 'Without a file, it writes to standard output: (umask 077; npm run --silent export > FILE.ndjson)',
  },
  backup: {
    module: 'commands/backup',
    positionals: 'FILE',
    summary: 'Copies the database in DATA_DIR, even while the server runs.',
    details: 'Avatars are separate files: copy DATA_DIR/avatars or the bucket, too.',
  },
  compact: {
    module: 'commands/compact',
    positionals: '',
    summary: 'Rewrites the database in DATA_DIR, so that its files contain no deleted data.',
    details: 'Writers wait until it is done, so run it at a quiet time.',
  },
  'set-password': {
    module: 'commands/set-password',
    positionals: 'ADDRESS|USER_ID',
    summary: 'Sets the password of an account.',
    details: 'It asks for the password, or reads it from standard input. All sessions end.',
  },
  'set-email': {
    module: 'commands/set-email',
    positionals: 'ADDRESS|USER_ID NEW_ADDRESS',
    summary: 'Changes the email address of an account.',
    details: 'The new address is not verified.',
  },
  'verify-account': {
    module: 'commands/verify-account',
    positionals: 'ADDRESS|USER_ID',
    summary: 'Marks an account as verified.',
  },
  'check-usernames': {
    module: 'commands/check-usernames',
    positionals: '',
    summary: 'Lists usernames that the current rules would reject. They stay valid.',
  },
  reports: {
    module: 'commands/reports',
    positionals: '[REPORT_ID…]',
    flags: { close: 'Closes the reports with these ids instead. Ids are accepted only with it.' },
    summary: 'Lists the open reports of users, the newest first.',
  },
  'remove-space': {
    module: 'commands/remove-space',
    positionals: 'SPACE_ID',
    summary: 'Deletes a space with its messages.',
  },
  'remove-message': {
    module: 'commands/remove-message',
    positionals: 'MESSAGE_ID',
    summary: 'Deletes a message.',
  },
  'remove-avatar': {
    module: 'commands/remove-avatar',
    positionals: 'ADDRESS|USER_ID',
    summary: 'Restores the default avatar of an account.',
  },
  'suspend-account': {
    module: 'commands/suspend-account',
    positionals: 'ADDRESS|USER_ID',
    summary: "Ends an account's sessions, rejects logins, and hides its profile and spaces.",
  },
  'restore-account': {
    module: 'commands/restore-account',
    positionals: 'ADDRESS|USER_ID',
    summary: 'Ends the suspension of an account.',
  },
  'delete-account': {
    module: 'commands/delete-account',
    positionals: 'ADDRESS|USER_ID',
    summary: 'Deletes a suspended account and everything in it.',
  },
} as const satisfies Record<string, Command>;

export type CommandName = keyof typeof commands;

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commands, name);
}

export function command(name: CommandName): Command {
  return commands[name];
}
