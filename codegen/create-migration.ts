import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const DATABASE = join(import.meta.dirname, '../server/database');

const TEMPLATE = `import { type Kysely, sql } from 'kysely';

/** SQLite and PostgreSQL both run this. If their SQL must differ, move this file to the folders of both. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql\`ALTER TABLE …\`.execute(db);
}
`;

const [name = ''] = process.argv.slice(2);
if (!/^[a-z]+(-[a-z]+)*$/.test(name)) {
  console.error('Usage: npm run migration -- NAME, for example space-language');
  process.exit(1);
}
const numbers = globSync('**/migrations/[0-9]*-*.ts', { cwd: DATABASE }).map((file) =>
  Number.parseInt(basename(file), 10),
);
const number = String(Math.max(...numbers) + 1).padStart(4, '0');
const folder = join(DATABASE, 'migrations');
mkdirSync(folder, { recursive: true });
const file = join(folder, `${number}-${name}.ts`);
writeFileSync(file, TEMPLATE, { flag: 'wx' });
console.log(`Created ${file}`);
