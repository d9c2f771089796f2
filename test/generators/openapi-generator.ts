import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, type Workspace } from './generator.ts';

/** The same version generates the clients of several languages. */
export const openapiGeneratorVersion = '7.25.0';
const JAR_SHA256 = '41ce4f6b07f196676439d710759fa1ced7a08066d06ff1bf314681470289efae';

const jarName = `openapi-generator-cli-${openapiGeneratorVersion}.jar`;
export const jarUrl = `https://repo.maven.apache.org/maven2/org/openapitools/openapi-generator-cli/${openapiGeneratorVersion}/${jarName}`;

/** Links `openapi-generator-cli.jar` into the folder, downloaded from Maven Central. */
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
  if (sha256 !== JAR_SHA256) {
    // The next run downloads it again.
    await rm(jar);
    throw new Error(`${jarUrl} has the SHA-256 ${sha256} instead of ${JAR_SHA256}.`);
  }
  await symlink(jar, join(workspace.folder, 'openapi-generator-cli.jar'));
}
