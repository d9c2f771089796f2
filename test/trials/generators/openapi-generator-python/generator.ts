import { type Generator, installPythonPackages, java, maven, python } from '../generator.ts';
import { installOpenapiGenerator, openapiGeneratorVersion } from '../openapi-generator.ts';

export const openapiGeneratorPython: Generator = {
  folder: import.meta.dirname,
  version: openapiGeneratorVersion,
  toolchains: [java, maven, python],
  async install(workspace) {
    await installOpenapiGenerator(workspace);
    await installPythonPackages(workspace);
  },
  command: 'java -jar openapi-generator-cli.jar generate -i openapi.yaml -g python -o client',
  async compile({ run }) {
    await run('mypy journey.py', { MYPYPATH: 'client' });
  },
  journey: 'env PYTHONPATH=client python journey.py',
};
