import { defineConfig } from 'vite';

export default defineConfig({
  resolve: {
    // Resolves `paths` of tsconfig.json.
    tsconfigPaths: true,
    // Of each, the page has one copy, also if `space-service` is a link to a folder with its own packages.
    dedupe: ['react', 'react-dom', '@tanstack/react-query'],
  },
  // Relative URLs, so that the built page works in any folder of a site.
  base: './',
  // Libraries mark modules for React servers, which this page does not have.
  build: { rolldownOptions: { checks: { moduleLevelDirective: false } } },
});
