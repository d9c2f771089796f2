import { type Generator, installJars, java, maven } from '../generator.ts';
import { installOpenapiGenerator, openapiGeneratorVersion } from '../openapi-generator.ts';

export const openapiGeneratorKotlin: Generator = {
  folder: import.meta.dirname,
  version: openapiGeneratorVersion,
  toolchains: [java, maven],
  async install(workspace) {
    await installOpenapiGenerator(workspace);
    await installJars(workspace);
  },
  command: 'java -jar openapi-generator-cli.jar generate -i openapi.yaml -g kotlin -o client',
  async compile({ run, listFiles }) {
    const libraries = (await listFiles('../lib', '.jar')).join(':');
    const compiler = 'java -cp ../lib/* org.jetbrains.kotlin.cli.jvm.K2JVMCompiler';
    const options = '-no-stdlib -no-reflect -jvm-target 11 -d classes';
    await run(`${compiler} ${options} -cp ${libraries} client/src/main/kotlin`);
    await run(`${compiler} ${options} -Wextra -Werror -cp ${libraries}:classes Journey.kt`);
  },
  journey: 'java -cp ../lib/*:classes JourneyKt',
};
