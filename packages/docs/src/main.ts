// node scripts/run.mjs packages/docs/src/main.ts [<root> <folder>]: builds the documentation as a site. Without
// arguments it writes build/docs, for a browser that opens the folder. With them it writes the site of a server.
import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makeSite, writeForServer, writeSite } from './build.ts'
import { readSources } from './sources.ts'

const [root, folder] = process.argv.slice(2)
try {
  if (root !== undefined && folder !== undefined) buildForServer(root, folder)
  else buildFolder(resolve(import.meta.dirname, '../../..'))
} catch (e) {
  process.stderr.write(`${(e as Error).message}\n`)
  process.exitCode = 1
}

function buildForServer(root: string, folder: string): void {
  const site = makeSite(root, readSources(root), { root: '/admin/docs/', consoleAddress: '/admin' })
  writeSite(folder, [...site.pages, ...site.assets])
  writeForServer(folder, site)
}

function buildFolder(root: string): void {
  const folder = join(root, 'build', 'docs')
  const { pages, assets } = makeSite(root, readSources(root))
  rmSync(folder, { recursive: true, force: true })
  writeSite(folder, [...pages, ...assets])
  process.stdout.write(`${pages.length} pages: open ${join(folder, 'index.html')} in a browser\n`)
}
