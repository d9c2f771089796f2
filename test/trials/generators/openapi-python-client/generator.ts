import { type Generator, installPythonPackages, python } from '../generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

export const openapiPythonClient: Generator = {
  folder: import.meta.dirname,
  version: pinnedVersion(import.meta.dirname, 'requirements.txt', /^openapi-python-client==(.+)$/m),
  toolchains: [python],
  install: installPythonPackages,
  command:
    'openapi-python-client generate --path openapi.yaml --meta none --output-path space_service',
  async compile({ run }) {
    await run('mypy journey.py');
  },
  journey: 'python journey.py',
};
