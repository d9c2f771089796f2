import { defineConfig } from 'vite';

export default defineConfig({
  // Resolves `paths` of tsconfig.json.
  resolve: { tsconfigPaths: true },
  // Relative URLs, so that the built page works in any folder of a site.
  base: './',
  // Libraries mark modules for React servers, which this page does not have.
  build: { rolldownOptions: { checks: { moduleLevelDirective: false } } },
});
