import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { login } from '../auth/login.ts';
import { findCaller } from '../auth/sessions.ts';
import type { Command, Terminal } from '../command-line/command.ts';
import { commandLine } from '../command-line/help.ts';
import { printable } from '../command-line/printable.ts';
import { type Config, DEFAULT_PORT, readConfig } from '../config.ts';
import type { Context } from '../context.ts';
import { createMailbox, mailboxSettings } from '../mail/mailbox.ts';
import { openLog } from '../process/log.ts';
import { type Address, PortInUseError, resolvePort } from '../process/port.ts';
import { serve } from '../process/serve.ts';
import { reportMessage } from '../reports/reports.ts';
import { importSample } from '../sample/import-sample.ts';
import { DEMO_ACCOUNT, DEMO_INVITATION, REPORTED_MESSAGE_ID } from '../sample/sample.ts';
import { createTemporaryFolder } from '../system/temporary-folder.ts';

const INTRODUCTION = `**This is a demo.** To try the operations that need an access token, execute *Sign in* with the example in the request:
the email address \`${DEMO_ACCOUNT.email}\` and the password \`${DEMO_ACCOUNT.password}\`. Then copy the \`access_token\` from the
response into *Bearer Token* under *Authentication*. The ids in the examples exist.`;

/** The account whose password the printed commands change, and which they delete. */
const SPARE_EMAIL = 'person30@example.com';

/** Starts a server with sample data in a temporary folder, which is deleted when the process exits. */
export const demo: Command = async (_, terminal) => {
  const { console } = terminal;
  const dataDir = createTemporaryFolder('space-service-demo-');
  // Exits immediately, even while the demo is being prepared. `serve` would finish requests first. Not with `once`,
  // because Ctrl+C causes two signals: one from the terminal and one from npm. A closed terminal sends SIGHUP.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => process.exit(0));
  }

  const config = await configForDemo(dataDir, terminal);
  console.log('Filling a temporary database with sample spaces …');
  await importSample({ dataDir });
  // `npm run demo` builds the web page first, if the development dependencies are installed.
  const page = fileURLToPath(new URL('../../examples/web/dist/', import.meta.url));
  const webPageFolder = existsSync(join(page, 'index.html')) ? page : null;
  const context = await serve(config, openLog({ logLevel: 'warn' }), {
    runsMaintenance: true,
    demo: {
      introduction: INTRODUCTION,
      webPageFolder,
      mailbox: createMailbox(({ to, subject, text }) =>
        console.log(`Mail to ${printable(to)}: ${subject}\n\n${text}`),
      ),
    },
  });
  const { token } = await login(context, DEMO_ACCOUNT.email, DEMO_ACCOUNT.password);
  const spare = await login(context, SPARE_EMAIL, DEMO_ACCOUNT.password);
  await report(context, token, 'Advertising, for the third time this week.');
  await report(context, spare.token, 'Spam. The same text is in two other spaces.');
  const avatar = join(dataDir, 'avatar.jpg');
  copyFileSync(new URL('../sample/avatar.jpg', import.meta.url), avatar);
  console.log(welcome(config, token, spare.token, avatar, webPageFolder !== null));
};

/** Reports a message of the sample data. The export format has no reports. */
async function report(context: Context, token: string, reason: string): Promise<void> {
  const caller = await findCaller(context.engine, token, context.config.sessions);
  if (caller) await reportMessage(context, caller, REPORTED_MESSAGE_ID, reason);
}

/**
 * Returns the default settings with HOST and PORT from the environment and a temporary data folder. Uses a free port if
 * PORT is 0 or the default port is in use.
 */
async function configForDemo(dataDir: string, { environment, console }: Terminal): Promise<Config> {
  const { HOST, PORT } = environment;
  const own = { DATA_DIR: dataDir, PUBLIC_RATE_LIMIT: 'off' };
  /** Links in mail lead to the page of the demo. */
  const read = (settings: Record<string, string | undefined>) => {
    const { publicUrl } = readConfig(settings);
    return readConfig({ ...settings, ...mailboxSettings(publicUrl) });
  };
  // Other settings can be those of a real service, whose database, bucket and URLs the demo must not use.
  const config = read({ ...own, HOST, PORT });
  if (config.port === DEFAULT_PORT && !(await isFree(config))) {
    console.log(
      `Port ${DEFAULT_PORT} is in use, so the demo uses a free port. To choose one, set PORT.`,
    );
  } else if (config.port !== 0) {
    return config;
  }
  const port = await resolvePort({ host: config.host, port: 0 });
  return read({ ...own, HOST: config.host, PORT: String(port) });
}

async function isFree(address: Address): Promise<boolean> {
  try {
    await resolvePort(address);
    return true;
  } catch (error) {
    if (error instanceof PortInUseError) return false;
    throw error;
  }
}

/** The comments contain no apostrophes: zsh does not ignore pasted comments, and would wait for a closing quote. */
function welcome(
  config: Config,
  accessToken: string,
  spareToken: string,
  avatarFile: string,
  hasWebPage: boolean,
): string {
  const { publicUrl: url } = config;
  const { email, password } = DEMO_ACCOUNT;
  const { space_id, invitation_code } = DEMO_INVITATION;
  const invitation = hasWebPage
    ? `\n  A private space        ${url}/#/space?id=${space_id}&invitation=${invitation_code}`
    : '';
  return `
space-service is running. Its sample data is deleted when you stop the demo.

  Try it in the browser  ${hasWebPage ? url : `${url}/docs`}
  Sign in                ${email}, with the password "${password}"${invitation}
  Mail of the demo       ${url}/demo-mails
  API reference          ${url}/docs
  The contract           ${url}/openapi.yaml
  Reports by users       DATA_DIR=${config.dataDir} ${commandLine('reports')}
  Stop it                Ctrl+C

You are the user ada. Paste these lines into another terminal:

  TOKEN=${accessToken}

  # 1. Search by text, even with a typo
  curl -w '\\n' '${url}/api/spaces/search?q=bread'
  curl -w '\\n' '${url}/api/spaces/search?q=astronmy&limit=3'

  # 2. Search by tag
  curl -w '\\n' '${url}/api/spaces/tag/c%2B%2B'

  # 3. Both in parallel, like SearchAPI of the client
  curl -w '\\n' --parallel '${url}/api/spaces/tag/chess' '${url}/api/spaces/search?q=chess'

  # 4. Read your profile
  curl -w '\\n' -H "Authorization: Bearer $TOKEN" ${url}/api/profile/me

  # 5. Change your username
  curl -w '\\n' -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"username":"ada.lovelace"}' ${url}/api/profile/username

  # 6. Change your bio
  curl -w '\\n' -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"bio":"Poetical science."}' ${url}/api/profile/bio

  # 7. Change your avatar
  curl -w '\\n' -X PUT -H "Authorization: Bearer $TOKEN" -F 'avatar=@${avatarFile}' ${url}/api/profile/picture

  # 8. Join a private space with its invitation
  curl -w '\\n' -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"invitation_code":"${invitation_code}"}' ${url}/api/participations/${space_id}

The last two change and delete another account, ${SPARE_EMAIL}:

  OTHER=${spareToken}

  # 9. Change the password
  curl -w '\\n' -X PUT -H "Authorization: Bearer $OTHER" -H 'Content-Type: application/json' \\
    -d '{"currentPassword":"${password}","newPassword":"honey on crumpets"}' ${url}/api/profile/password

  # 10. Delete the account
  curl -w '\\n' -X DELETE -H "Authorization: Bearer $OTHER" ${url}/api/profile/account

To sign in as another user, use person2@example.com to person29@example.com. All have the same password.
`;
}
