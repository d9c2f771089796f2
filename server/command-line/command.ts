/** A command as its help describes it, and the function that runs it. */
export interface CommandEntry {
  /** The positional arguments as the usage shows them: `FROM TO`, `[OPTIONAL]` or `[ANY_NUMBER…]`. */
  positionals: string;
  /** Descriptions of the flags by their names. */
  flags?: Readonly<Record<string, string>>;
  summary: string;
  details?: string;
  /** Flags of Node.js. */
  nodeFlags?: readonly string[];
  /** Loads the command, so that the help and other commands do not wait for its modules. */
  load(): Promise<Command>;
  /** The exit code after an error that explains itself to the operator; by default, 1. */
  failureCode?: number;
  /** The exit code if a restart may succeed without a change of the settings; by default, `failureCode`. */
  temporaryFailureCode?: number;
}

export interface ParsedArguments {
  /** The name of the command. */
  name: string;
  /** The first positional argument. Empty if it is omitted. */
  argument: string;
  positionals: string[];
  /** What the audit log shows instead of the positional arguments, which can be email addresses. */
  auditedArguments: string[];
  /** The names of the given flags, which can include `help`. */
  flags: string[];
}

/**
 * Runs a command to its end; a server, until it is ready.
 * @returns the exit code; undefined for 0
 * @throws OperatorError, DomainError or the error of a system call, whose messages are printed as one line
 */
export type Command = (
  given: ParsedArguments,
  terminal: Terminal,
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing
) => Promise<number | void>;

/** Where a command has its settings from, and what it reads and writes. */
export interface Terminal {
  environment: Readonly<Record<string, string | undefined>>;
  readonly input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream;
  errors: NodeJS.WritableStream & { isTTY?: boolean };
  /** Writes lines to `output` and `errors`. */
  console: Console;
}
