import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { paths } from './src/paths.ts'

/** Tells the server which paths are views. */
const routesFile: Plugin = {
  name: 'routes-file',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'routes.json', source: JSON.stringify(paths) })
  },
}

/**
 * The server renders the HTML page itself from the manifest, so the entry is a module and not a page. No asset is
 * inlined: the content security policy allows scripts, styles and images of this origin only.
 */
export default defineConfig({
  base: '/admin/',
  plugins: [react(), routesFile],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: 'manifest.json',
    rolldownOptions: { input: 'src/main.tsx' },
  },
})
