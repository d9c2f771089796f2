import { type Generator, java, maven, type Toolchain } from '../generator.ts';
import { installOpenapiGenerator, openapiGeneratorVersion } from '../openapi-generator.ts';

const php: Toolchain = { name: 'PHP', command: ['php', '--version'], minimumVersion: '8.1' };

/** From the system's packages, such as Debian's php-guzzlehttp-guzzle. */
const guzzle: Toolchain = {
  name: 'Guzzle on the include path, with curl and mbstring,',
  command: [
    'php',
    '-r',
    'require "GuzzleHttp/autoload.php"; curl_version(); mb_strlen(""); echo GuzzleHttp\\ClientInterface::MAJOR_VERSION;',
  ],
  minimumVersion: '7',
};

export const openapiGeneratorPhp: Generator = {
  folder: import.meta.dirname,
  version: openapiGeneratorVersion,
  toolchains: [java, maven, php, guzzle],
  install: installOpenapiGenerator,
  command: 'java -jar openapi-generator-cli.jar generate -i openapi.yaml -g php -o client',
  async compile({ run, listFiles }) {
    for (const file of [...(await listFiles('client/lib', '.php')), 'journey.php']) {
      await run(`php -d error_reporting=-1 -l ${file}`);
    }
  },
  journey: 'php journey.php',
};
