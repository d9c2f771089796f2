import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, type Workspace } from './generator.ts';

/** The same version generates the clients of several languages. */
export const openapiGeneratorVersion = '7.25.0';
const JAR_SHA256 = '41ce4f6b07f196676439d710759fa1ced7a08066d06ff1bf314681470289efae';

const jarName = `openapi-generator-cli-${openapiGeneratorVersion}.jar`;
export const jarUrl = `https://repo.maven.apache.org/maven2/org/openapitools/openapi-generator-cli/${openapiGeneratorVersion}/${jarName}`;

/** Puts an executable `openapi-generator-cli` on the PATH, as the npm package of this name does. */
export async function installOpenapiGenerator(workspace: Workspace): Promise<void> {
  const jar = join(cacheFolder, jarName);
  if (!existsSync(jar)) {
    const response = await fetch(jarUrl);
    if (!response.ok) throw new Error(`${jarUrl}: status ${response.status}`);
    await writeFile(`${jar}.unfinished`, new Uint8Array(await response.arrayBuffer()));
    await rename(`${jar}.unfinished`, jar);
  }
  const sha256 = createHash('sha256')
    .update(await readFile(jar))
    .digest('hex');
  if (sha256 !== JAR_SHA256) throw new Error(`${jar} has the SHA-256 ${sha256}.`);
  const script = `#!/bin/sh\nexec java -jar '${jar}' "$@"\n`;
  await writeFile(join(workspace.cache, 'openapi-generator-cli'), script, { mode: 0o755 });
  workspace.addToPath(workspace.cache);
}
