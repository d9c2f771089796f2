import type { Generator } from './generator.ts';
import { heyApi } from './hey-api/generator.ts';
import { kubb } from './kubb/generator.ts';
import { oapiCodegen } from './oapi-codegen/generator.ts';
import { ogen } from './ogen/generator.ts';
import { openapiGeneratorGo } from './openapi-generator-go/generator.ts';
import { openapiGeneratorJava } from './openapi-generator-java/generator.ts';
import { openapiGeneratorKotlin } from './openapi-generator-kotlin/generator.ts';
import { openapiGeneratorPhp } from './openapi-generator-php/generator.ts';
import { openapiGeneratorPython } from './openapi-generator-python/generator.ts';
import { openapiGeneratorRust } from './openapi-generator-rust/generator.ts';
import { openapiPythonClient } from './openapi-python-client/generator.ts';
import { openapiReactQuery } from './openapi-react-query/generator.ts';
import { openapiTypescript } from './openapi-typescript/generator.ts';
import { orval } from './orval/generator.ts';
import { progenitor } from './progenitor/generator.ts';
import { swaggerTypescriptApi } from './swagger-typescript-api/generator.ts';

/** The generators by name, in the order in which they run. */
export const generators: Record<string, Generator> = {
  'openapi-python-client': openapiPythonClient,
  'oapi-codegen': oapiCodegen,
  ogen,
  'openapi-typescript': openapiTypescript,
  'openapi-react-query': openapiReactQuery,
  orval,
  'hey-api': heyApi,
  kubb,
  'swagger-typescript-api': swaggerTypescriptApi,
  progenitor,
  'openapi-generator-python': openapiGeneratorPython,
  'openapi-generator-go': openapiGeneratorGo,
  'openapi-generator-rust': openapiGeneratorRust,
  'openapi-generator-php': openapiGeneratorPhp,
  'openapi-generator-java': openapiGeneratorJava,
  'openapi-generator-kotlin': openapiGeneratorKotlin,
};

/** Run by `npm run clients` without arguments. */
export const shortSet = ['openapi-python-client', 'oapi-codegen', 'openapi-typescript'];
