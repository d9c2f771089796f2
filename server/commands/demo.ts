import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { login } from '../auth/login.ts';
import { hashPassword } from '../auth/password-hashing.ts';
import { type Config, configFromEnvironment } from '../config.ts';
import { openDatabase } from '../database/open.ts';
import { importRecords } from '../exchange/import.ts';
import { openLog } from '../process/log.ts';
import { type Address, resolvePort } from '../process/port.ts';
import { runProgram } from '../process/program.ts';
import { serve } from '../process/serve.ts';
import { DEMO_ACCOUNT, sampleRecords } from '../sample/sample.ts';

/** The password of the contract's examples, so that they work here. */
const PASSWORD = 'correct horse battery';

const dataDir = mkdtempSync(join(tmpdir(), 'space-service-demo-'));
process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0));

await runProgram(async () => {
  const config = await configForDemo();
  console.log('Filling a temporary database with sample spaces …');
  await fill(config);
  const { engine } = await serve(config, openLog({ logLevel: 'warn' }), { runsMaintenance: true });
  const { token } = await login(engine, DEMO_ACCOUNT.email, PASSWORD);
  const avatar = join(dataDir, 'avatar.jpg');
  copyFileSync(new URL('../sample/avatar.jpg', import.meta.url), avatar);
  console.log(welcome(config, token, avatar));
});

/** Returns settings with a temporary data folder, and with another port if the default one is in use. */
async function configForDemo(): Promise<Config> {
  const overrides = { DATA_DIR: dataDir, WORKERS: '1' };
  const usual = configFromEnvironment(overrides);
  if (usual.port !== 3000 || (await isFree(usual))) return usual;
  console.log('Port 3000 is in use, so the demo uses another one. Choose one with PORT=….');
  const port = await resolvePort({ host: usual.host, port: 0 });
  return configFromEnvironment({ ...overrides, PORT: String(port) });
}

function isFree(address: Address): Promise<boolean> {
  return resolvePort(address).then(
    () => true,
    () => false,
  );
}

async function fill({ dataDir: folder }: Config): Promise<void> {
  await using database = await openDatabase({ dataDir: folder });
  const passwordHash = await hashPassword(PASSWORD);
  await importRecords(database, lines());

  async function* lines(): AsyncIterable<string> {
    for (const record of sampleRecords(passwordHash, new Date())) yield JSON.stringify(record);
  }
}

function welcome({ publicUrl: url }: Config, accessToken: string, file: string): string {
  return `
space-service is running, with a sample that goes when you are done with it.

  Try it in the browser  ${url}/docs
  The contract           ${url}/openapi.yaml
  Stop it                Ctrl+C

You are ada. These lines work as pasted into another terminal:

  TOKEN=${accessToken}

  # 1. Search by text, and by a word with a typing error
  curl -w '\\n' '${url}/api/spaces/search?q=bread'
  curl -w '\\n' '${url}/api/spaces/search?q=astronmy&limit=3'

  # 2. Search by tag
  curl -w '\\n' '${url}/api/spaces/tag/c%2B%2B'

  # 3. Both at once, as the client's SearchAPI does
  curl -w '\\n' --parallel '${url}/api/spaces/tag/chess' '${url}/api/spaces/search?q=chess'

  # 4. Your profile
  curl -w '\\n' -H "Authorization: Bearer $TOKEN" ${url}/api/profile/me

  # 5. Another username
  curl -w '\\n' -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"username":"ada.lovelace"}' ${url}/api/profile/username

  # 6. Another bio
  curl -w '\\n' -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"bio":"Poetical science."}' ${url}/api/profile/bio

  # 7. Another avatar
  curl -w '\\n' -X PUT -H "Authorization: Bearer $TOKEN" -F 'avatar=@${file}' ${url}/api/profile/picture

  # 8. Another password
  curl -w '\\n' -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"currentPassword":"${PASSWORD}","newPassword":"honey on crumpets"}' ${url}/api/profile/password

  # 9. The end of the account
  curl -w '\\n' -X DELETE -H "Authorization: Bearer $TOKEN" ${url}/api/profile/account

Everybody in the sample has the password "${PASSWORD}": ${DEMO_ACCOUNT.email}, and person2@example.com to
person30@example.com.
`;
}
