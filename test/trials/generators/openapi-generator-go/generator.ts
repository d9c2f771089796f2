import { type Generator, go, java, maven } from '../generator.ts';
import { installOpenapiGenerator, openapiGeneratorVersion } from '../openapi-generator.ts';

export const openapiGeneratorGo: Generator = {
  folder: import.meta.dirname,
  version: openapiGeneratorVersion,
  toolchains: [java, maven, go],
  install: installOpenapiGenerator,
  command:
    'java -jar openapi-generator-cli.jar generate -i openapi.yaml -g go -o spaceservice --global-property=apiTests=false --additional-properties=packageName=spaceservice,withGoMod=false,disallowAdditionalPropertiesIfNotPresent=false',
  async compile({ run }) {
    await run('go vet ./...');
    await run('go build -o journey .');
  },
  journey: './journey',
};
