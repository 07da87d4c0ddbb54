import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { makeAssets, type SiteFile } from './assets.ts'
import { createImages } from './images.ts'
import { renderDocument, renderNotFound, type Site } from './layout.ts'
import { createLinks } from './links.ts'
import { buildNavigation, inOrder } from './navigation.ts'
import { parsePage } from './parse-page.ts'
import { renderContent } from './render-page.ts'
import { buildSearchIndex } from './search-index.ts'
import type { Source } from './sources.ts'

/** Address of a site that a server of Holdfast has, and of the console above it. */
type ServedAt = { root: string; consoleAddress: string }

/** A page of the site, as HTML. */
type SitePage = { path: string; content: string }

/**
 * Makes the files of the site.
 *
 * @param root folder of the checkout
 * @param served undefined: the site is a folder that a browser opens
 * @throws Error with one line for each broken link or image
 */
export function makeSite(
  root: string,
  sources: readonly Source[],
  served?: ServedAt,
): { pages: SitePage[]; assets: SiteFile[] } {
  const parsed = sources.map(parsePage)
  const links = createLinks(root, parsed)
  const images = createImages(root, links.broken)
  const groups = buildNavigation(parsed)
  const { files, names } = makeAssets(root, buildSearchIndex(parsed))
  const site: Site = {
    groups,
    order: inOrder(groups, parsed),
    files: names,
    consoleAddress: served?.consoleAddress,
  }
  const pages = parsed.map((page) => ({
    path: page.page,
    content: renderDocument(site, page, renderContent(page, links, images)),
  }))
  if (links.broken.length > 0) throw new Error(links.broken.join('\n'))
  if (served) pages.push({ path: '404.html', content: renderNotFound(site, served.root) })
  return { pages, assets: [...files, ...images.files()] }
}

/** Writes the files of a site into a folder. */
export function writeSite(folder: string, files: readonly SiteFile[]): void {
  for (const { path, content } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

/** Writes compressed copies of the assets, and the list of all files, from which the server reads. */
export function writeForServer(folder: string, { pages, assets }: ReturnType<typeof makeSite>): void {
  for (const { path, content } of assets) {
    const params = {
      // 10 takes five times as long for the index.
      [constants.BROTLI_PARAM_QUALITY]: 9,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    }
    writeFileSync(join(folder, `${path}.br`), brotliCompressSync(content, { params }))
    writeFileSync(join(folder, `${path}.gz`), gzipSync(content))
  }
  const list = { pages: pages.map(({ path }) => path), assets: assets.map(({ path }) => path) }
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(list))
}
