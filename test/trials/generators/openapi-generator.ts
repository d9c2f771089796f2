import { existsSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, MAVEN_DEPENDENCY_PLUGIN, type Workspace } from './generator.ts';

/** The same version generates the clients of several languages. */
export const openapiGeneratorVersion = '7.25.0';

/** Downloads `openapi-generator-cli.jar` to the current folder. `docs/clients.md` has the same command. */
export const downloadCommand = `mvn ${MAVEN_DEPENDENCY_PLUGIN}:copy -Dartifact=org.openapitools:openapi-generator-cli:${openapiGeneratorVersion} -Dmdep.stripVersion -DoutputDirectory=.`;

/** Links `openapi-generator-cli.jar` into the folder. Maven checks the download. */
export async function installOpenapiGenerator(workspace: Workspace): Promise<void> {
  const name = `openapi-generator-${openapiGeneratorVersion}`;
  const jar = join(cacheFolder, name, 'openapi-generator-cli.jar');
  if (!existsSync(jar)) {
    const command = downloadCommand.replace('mvn', 'mvn --batch-mode --quiet');
    await workspace.run(command.replace(/\.$/, `../../${name}`));
  }
  await symlink(jar, join(workspace.folder, 'openapi-generator-cli.jar'));
}
