import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PageFiles } from './layout.ts'

/** A file of the site, by its path below the folder of the site. */
export type SiteFile = { path: string; content: string | Buffer }

const source = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8')

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#3f6ef0" stroke-width="1.75" stroke-linejoin="round"><path d="M12 2.5 4 5.5v6c0 5 3.4 8.6 8 10 4.6-1.4 8-5 8-10v-6z"/><path d="M9 8v8M15 8v8M9 12h6" stroke-linecap="round"/></svg>
`

/**
 * Makes the files that pages load. The name of a file has a digest of its content, so browsers may keep it.
 *
 * @param root folder of the checkout, which has the colours and sizes of the console
 */
export function makeAssets(root: string, searchIndex: string): { files: SiteFile[]; names: PageFiles } {
  const tokens = readFileSync(join(root, 'packages/console/src/styles/tokens.css'), 'utf8')
  const engine = readFileSync(fileURLToPath(import.meta.resolve('minisearch')), 'utf8')
  const index = named('search-index.json', searchIndex)
  const minisearch = named('minisearch.js', engine.replace(/^\/\/# sourceMappingURL=.*$/m, ''))
  const search = script('search', [
    ["'minisearch'", minisearch],
    ["'./search-index.json'", index],
  ])
  const main = script('main', [["'./search.ts'", search]])
  const style = named('docs.css', `${tokens}\n${source('docs.css')}`)
  const picture = named('icon.svg', icon)
  return {
    files: [index, minisearch, search, main, style, picture],
    names: { style: style.path, script: main.path, icon: picture.path },
  }
}

/** Makes a script of the browser from its source. The files that it names get the names that they have in the site. */
function script(name: string, replacements: readonly (readonly [written: string, file: SiteFile])[]): SiteFile {
  let text = stripTypeScriptTypes(source(`client/${name}.ts`))
  for (const [written, { path }] of replacements) {
    if (!text.includes(written)) throw new Error(`client/${name}.ts does not name ${written}`)
    text = text.replaceAll(written, `'./${path.replace('assets/', '')}'`)
  }
  return named(`${name}.js`, text)
}

/** Names a file by a digest of its content, so that a browser may keep it. */
export function named(name: string, content: string | Buffer): SiteFile {
  const [stem, extension] = name.split('.')
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 10)
  return { path: `assets/${stem}-${digest}.${extension}`, content }
}
