import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { hashPassword } from '../auth/passwords.ts';
import { openSession } from '../auth/sessions.ts';
import { type Config, readConfigOrExit } from '../config.ts';
import { importRecords } from '../exchange/import.ts';
import { openLog } from '../logging.ts';
import { DEMO_ACCOUNT, sampleRecords } from '../sample/sample.ts';
import { serve } from '../serve.ts';

const PASSWORD = 'marmalade on toast';

const dataDir = await mkdtemp(join(tmpdir(), 'space-service-demo-'));
const config = readConfigOrExit({ DATA_DIR: dataDir, WORKERS: '1' });
const log = openLog({ logLevel: 'warn' });

console.log('Filling a temporary database with sample spaces …');
const { engine } = await serve(config, log, { maintains: true });
const passwordHash = await hashPassword(PASSWORD);
await importRecords(engine, sampleLines());
const { id } = await engine.db
  .selectFrom('users')
  .select('id')
  .where('user_id', '=', DEMO_ACCOUNT.userId)
  .executeTakeFirstOrThrow();
const token = await openSession(engine.db, id);
const picture = join(dataDir, 'picture.jpg');
await writeFile(picture, await samplePicture());
console.log(welcome(config, token, picture));

async function* sampleLines(): AsyncIterable<string> {
  for (const record of sampleRecords(passwordHash, new Date())) yield JSON.stringify(record);
}

/** Something to upload: an evening sky. */
function samplePicture(): Promise<Buffer> {
  const sky = `<svg xmlns="http://www.w3.org/2000/svg" width="800" height="600">
    <defs><linearGradient id="sky" x2="0" y2="1">
      <stop stop-color="#1d2b53"/><stop offset=".6" stop-color="#c2506e"/><stop offset="1" stop-color="#ffb35c"/>
    </linearGradient></defs>
    <rect width="800" height="600" fill="url(#sky)"/><circle cx="400" cy="430" r="90" fill="#ffe9b0"/>
    <path d="M0 480 Q200 400 400 470 T800 450 V600 H0Z" fill="#1a1c2c"/>
  </svg>`;
  return sharp(Buffer.from(sky)).jpeg().toBuffer();
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
  curl '${url}/api/spaces/search?q=bread'
  curl '${url}/api/spaces/search?q=astronmy&limit=3'

  # 2. Search by tag
  curl '${url}/api/spaces/tag/c%2B%2B'

  # 3. Both at once, as the client's SearchAPI does
  curl --parallel '${url}/api/spaces/tag/chess' '${url}/api/spaces/search?q=chess'

  # 4. Your profile
  curl -H "Authorization: Bearer $TOKEN" ${url}/api/profile/me

  # 5. Another username
  curl -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"username":"ada.lovelace"}' ${url}/api/profile/username

  # 6. Another bio
  curl -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"bio":"Poetical science."}' ${url}/api/profile/bio

  # 7. Another picture
  curl -X PUT -H "Authorization: Bearer $TOKEN" -F 'avatar=@${file}' ${url}/api/profile/picture

  # 8. Another password
  curl -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"currentPassword":"${PASSWORD}","newPassword":"honey on crumpets"}' ${url}/api/profile/password

  # 9. The end of the account
  curl -X DELETE -H "Authorization: Bearer $TOKEN" ${url}/api/profile/account

Everybody in the sample has the password "${PASSWORD}": person2@example.com to person30@example.com.
`;
}
