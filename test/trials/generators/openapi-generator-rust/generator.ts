import { cargo, type Generator, java, maven } from '../generator.ts';
import { installOpenapiGenerator, openapiGeneratorVersion } from '../openapi-generator.ts';

export const openapiGeneratorRust: Generator = {
  folder: import.meta.dirname,
  version: openapiGeneratorVersion,
  toolchains: [java, maven, cargo],
  install: installOpenapiGenerator,
  command:
    'java -jar openapi-generator-cli.jar generate -i openapi.yaml -g rust -o client --additional-properties=packageName=space-service,packageVersion=1.0.0',
  async compile({ run }) {
    await run('cargo build --quiet --locked');
  },
  journey: '../target/debug/journey',
};
