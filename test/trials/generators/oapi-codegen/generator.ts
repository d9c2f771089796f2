import { type Generator, go } from '../generator.ts';
import { pinnedVersion } from '../pinned-version.ts';

export const oapiCodegen: Generator = {
  folder: import.meta.dirname,
  version: pinnedVersion(
    import.meta.dirname,
    'go.mod',
    /github\.com\/oapi-codegen\/oapi-codegen\/v2 v(\S+)/,
  ),
  toolchains: [go],
  async install({ run }) {
    await run('go mod download');
  },
  command:
    'go tool oapi-codegen -generate types,client -package spaceservice -o spaceservice/client.go openapi.yaml',
  async compile({ run }) {
    await run('go vet ./...');
    await run('go build -o journey .');
  },
  journey: './journey',
};
