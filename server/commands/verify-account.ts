import { verifyAccount } from '../auth/verification.ts';
import { readConfigOrExit } from '../config.ts';
import { openDatabase } from '../database/open.ts';

const [email, ...rest] = process.argv.slice(2);
if (email === undefined || rest.length > 0) {
  console.error('Usage: npm run verify-account -- ADDRESS');
  process.exit(1);
}

await using engine = await openDatabase(readConfigOrExit(), { maintains: false });
if (await verifyAccount(engine, email)) {
  console.log(`The account of ${email} is verified.`);
} else {
  console.error(`There is no account with the address ${email}.`);
  process.exitCode = 1;
}
