import type { CommandEntry } from '../command-line/command.ts';
import { isPackaged } from '../command-line/help.ts';
import { EX_CONFIG, EX_TEMPFAIL } from '../process/exit-codes.js';

const JSON_FLAG = 'Writes one JSON object per line.';

/** All commands of the program `space-service`. In the repository, each is also an npm script. */
export const commands = {
  start: {
    positionals: '',
    summary: 'Starts the server.',
    details: 'Settings are environment variables. Their defaults:',
    nodeFlags: ['--max-semi-space-size=8', '--max-old-space-size=256'],
    load: async () => (await import('./start.ts')).start,
    failureCode: EX_CONFIG,
    temporaryFailureCode: EX_TEMPFAIL,
  },
  demo: {
    positionals: '',
    summary: 'Starts a server with sample data in a temporary folder.',
    details: 'It prints curl commands to paste. It uses HOST and PORT, but no other settings.',
    load: async () => (await import('./demo.ts')).demo,
  },
  import: {
    positionals: 'FILE.ndjson',
    flags: {
      'skip-bad': 'Imports valid lines and lists the others.',
      'only-new': 'Rejects references to users, spaces and messages from before the import.',
    },
    summary: 'Adds users, spaces and messages to the database in DATA_DIR.',
    details:
      'If the file is "-", it reads standard input. Exit code 65: it has skipped bad lines and imported the others.',
    nodeFlags: ['--max-semi-space-size=16', '--max-old-space-size=256'],
    load: async () => (await import('./import.ts')).importFile,
  },
  export: {
    positionals: '[FILE.ndjson]',
    summary: 'Writes all data of the database, except sessions, reports and avatar files.',
    details: isPackaged
      ? 'Without a file, it writes to standard output: (umask 077; space-service export > FILE.ndjson)'
      : 'Without a file, it writes to standard output: (umask 077; npm run --silent export > FILE.ndjson)',
    load: async () => (await import('./export.ts')).exportDatabase,
  },
  backup: {
    positionals: 'FILE',
    summary: 'Copies the database in DATA_DIR, even while the server runs.',
    details: 'Avatars are separate files: copy DATA_DIR/avatars or the bucket, too.',
    load: async () => (await import('./backup.ts')).backUp,
  },
  restore: {
    positionals: '[BACKUP]',
    flags: {
      'deletions-only':
        'Only deletes accounts again that erased-accounts.txt names, for example after pg_restore. The server may run.',
    },
    summary: 'Replaces the database in DATA_DIR by a backup, while no server runs.',
    details:
      'BACKUP is a file, or the name of a scheduled backup. Without it, the command lists the names. It checks the backup, deletes accounts again that were deleted since then, and copies the avatars of a scheduled backup, or the folder avatars next to the file.',
    load: async () => (await import('./restore.ts')).restore,
  },
  migrate: {
    positionals: '',
    flags: { 'dry-run': 'Only lists the missing migrations.' },
    summary: 'Migrates the database, which otherwise the next start of the server does.',
    details: 'It waits until running servers and other programs release their locks.',
    load: async () => (await import('./migrate.ts')).migrate,
  },
  compact: {
    positionals: '',
    summary: 'Rewrites the database in DATA_DIR, so that its files contain no deleted data.',
    details: 'Writers wait until it is done, so run it at a quiet time.',
    load: async () => (await import('./compact.ts')).compact,
  },
  'check-database': {
    positionals: '',
    flags: {
      full: 'Also compares indexes with their tables, and checks references. Takes longer.',
    },
    summary: 'Says which tables of the database are damaged, and what to do.',
    details:
      'It works while the server runs. It also empties a damaged search index, so that the server rebuilds it. Exit code 1: other tables are damaged.',
    load: async () => (await import('./check-database.ts')).checkDatabase,
  },
  accounts: {
    positionals: '[ADDRESS|USER_ID|USERNAME]',
    flags: {
      suspended: 'Lists only suspended accounts.',
      unverified: 'Lists only accounts that are not verified.',
      json: JSON_FLAG,
    },
    summary: 'Lists accounts, or shows one with its sessions, tokens, spaces and reports.',
    details:
      'If no account has this address, id or username, it lists those whose usernames begin with it.',
    load: async () => (await import('./account-list.ts')).listAccounts,
  },
  'end-sessions': {
    positionals: 'ADDRESS|USER_ID [SESSION_ID|TOKEN_ID…]',
    flags: {
      tokens: 'Also revokes the access tokens of its programs.',
      json: JSON_FLAG,
    },
    summary: 'Ends the sessions of an account, or only those with these ids.',
    load: async () => (await import('./accounts.ts')).endSessions,
  },
  'set-password': {
    positionals: 'ADDRESS|USER_ID',
    summary: 'Sets the password of an account.',
    details:
      'It asks for the password, or reads it from standard input. All sessions and access tokens of the account end.',
    load: async () => (await import('./set-password.ts')).changePassword,
  },
  'set-email': {
    positionals: 'ADDRESS|USER_ID NEW_ADDRESS',
    summary: 'Changes the email address of an account.',
    details: 'The new address is not verified.',
    load: async () => (await import('./accounts.ts')).changeEmail,
  },
  'verify-account': {
    positionals: 'ADDRESS|USER_ID',
    summary: 'Marks an account as verified.',
    load: async () => (await import('./accounts.ts')).verify,
  },
  'send-test-mail': {
    positionals: 'ADDRESS',
    summary: 'Sends a mail to find out whether the settings of mail work.',
    details: 'It prints what the mail server has answered.',
    load: async () => (await import('./send-test-mail.ts')).sendTestMail,
  },
  'check-usernames': {
    positionals: '',
    summary: 'Lists usernames that the current rules would reject. They stay valid.',
    load: async () => (await import('./check-usernames.ts')).checkUsernames,
  },
  reports: {
    positionals: '[REPORT_ID|SPACE_ID|USER_ID…]',
    flags: {
      about:
        'Lists only the reports about the space or user with this id, about its or their messages, and about spaces that the user created.',
      close: 'Closes the reports with these ids instead. Ids are accepted only with it.',
      json: JSON_FLAG,
    },
    summary: 'Lists the open reports of users, the newest first.',
    load: async () => (await import('./reports.ts')).listOrCloseReports,
  },
  'remove-space': {
    positionals: 'SPACE_ID',
    summary: 'Deletes a space with its messages.',
    load: async () => (await import('./takedowns.ts')).removeReportedSpace,
  },
  'remove-message': {
    positionals: 'MESSAGE_ID',
    summary: 'Deletes a message.',
    load: async () => (await import('./takedowns.ts')).removeReportedMessage,
  },
  'remove-avatar': {
    positionals: 'ADDRESS|USER_ID',
    summary: 'Restores the default avatar of an account.',
    load: async () => (await import('./accounts.ts')).removeAvatar,
  },
  'suspend-account': {
    positionals: 'ADDRESS|USER_ID',
    summary: "Ends an account's sessions, rejects logins, and hides its profile and spaces.",
    load: async () => (await import('./accounts.ts')).suspend,
  },
  'restore-account': {
    positionals: 'ADDRESS|USER_ID',
    summary: 'Ends the suspension of an account.',
    load: async () => (await import('./accounts.ts')).restore,
  },
  'delete-account': {
    positionals: 'ADDRESS|USER_ID',
    summary: 'Deletes a suspended account and everything in it.',
    load: async () => (await import('./accounts.ts')).deleteAccount,
  },
} as const satisfies Record<string, CommandEntry>;

export type CommandName = keyof typeof commands;

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commands, name);
}

/** Returns the entry of a command, with its optional fields. */
export function entryOf(name: CommandName): CommandEntry {
  return commands[name];
}
