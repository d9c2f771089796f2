import { type Generator, installJars, java, javac, maven } from '../generator.ts';
import { installOpenapiGenerator, openapiGeneratorVersion } from '../openapi-generator.ts';

export const openapiGeneratorJava: Generator = {
  folder: import.meta.dirname,
  version: openapiGeneratorVersion,
  toolchains: [java, javac, maven],
  async install(workspace) {
    await installOpenapiGenerator(workspace);
    await installJars(workspace);
  },
  command:
    'java -jar openapi-generator-cli.jar generate -i openapi.yaml -g java --library native -o client --additional-properties=hideGenerationTimestamp=true',
  async compile({ run, listFiles }) {
    const sources = await listFiles('client/src/main/java', '.java');
    await run(`javac --release 17 -encoding UTF-8 -cp ../lib/* -d classes ${sources.join(' ')}`);
    await run(
      'javac --release 17 -encoding UTF-8 -Xlint:all -Werror -cp ../lib/*:classes -d classes Journey.java',
    );
  },
  // The client decodes responses with the default charset, which depends on the locale before Java 18.
  journey: 'java -Dfile.encoding=UTF-8 -cp ../lib/*:classes Journey',
};
