import { PolicyDocument } from '@holdfast/contract/policy-document'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { views } from './src/paths.ts'

/** Names the files of each view for the server, as manifest.json does, and its first reads. */
const routesFile: Plugin = {
  name: 'routes-file',
  generateBundle() {
    const routes = Object.entries(views).map(([path, view]) => [
      path,
      { ...view, module: `src/routes/${view.module}.tsx` },
    ])
    this.emitFile({ type: 'asset', fileName: 'routes.json', source: JSON.stringify(Object.fromEntries(routes)) })
  },
}

/** Gives the editor the JSON Schema of policies without the library that describes it. */
const policySchema: Plugin = {
  name: 'policy-schema',
  load: (id) =>
    id.endsWith('/contract/src/policy-document.ts')
      ? `export const PolicyDocument = ${JSON.stringify(PolicyDocument)}`
      : undefined,
}

/**
 * Few files, since each one costs a connection its delay, and browsers open only six connections on HTTP/1.1: one for
 * the code that every start loads, one for code that many views share, and one for each view and each overlay.
 */
const codeSplitting = {
  groups: [
    { name: 'start', tags: ['$initial' as const], priority: 2 },
    // A view keeps a file of its own, which the manifest names.
    { name: 'views', test: (module: string) => !/page\.tsx$/.test(module), minShareCount: 6, priority: 1 },
  ],
}

/**
 * The server renders the HTML page itself from the manifest, so the entry is a module and not a page. No asset is
 * inlined: the content security policy allows scripts, styles and images of this origin only.
 */
export default defineConfig({
  base: '/admin/',
  plugins: [react(), routesFile, policySchema],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: 'manifest.json',
    rolldownOptions: { input: 'src/main.tsx', output: { codeSplitting } },
  },
})
