import { configFromEnvironment } from '../config.ts';
import { copyDatabase } from '../database/open.ts';
import { runProgram } from '../process/program.ts';
import { replaceFile } from '../system/durable-files.ts';

const [file, ...rest] = process.argv.slice(2);
if (file === undefined || rest.length > 0) {
  console.error('Usage: npm run backup -- FILE');
  process.exit(1);
}

await runProgram(async () => {
  const config = configFromEnvironment();
  await replaceFile(file, async (path) => copyDatabase(config, path));
  console.error(
    `The database was copied to ${file}. Avatars are separate files: copy DATA_DIR/avatars.`,
  );
});
