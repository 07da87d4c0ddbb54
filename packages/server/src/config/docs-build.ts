import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, shown, wrongSetting } from './wrong-setting.ts'

/** A file with the compressed copies that the build made. */
type SiteAsset = { content: Buffer; brotli: Buffer; gzip: Buffer }

/** The site of the documentation, in memory. Paths are those below its folder. */
export type DocsBuild = {
  /** HTML of the pages by path, such as `how-to/job.html`. */
  pages: ReadonlyMap<string, string>
  /** Files that pages load. Their names change with their content. */
  assets: ReadonlyMap<string, SiteAsset>
}

const name = 'HOLDFAST_DOCS_DIR'
const takes = 'the folder that scripts/docs.mjs builds, with manifest.json, index.html and 404.html'
const mostFiles = 2_000
const largestBytes = 64 * 1024 * 1024

/**
 * Reads the build that `HOLDFAST_DOCS_DIR` names.
 *
 * @throws ConfigError if it is no build
 */
export function readDocsBuild(folder: string): DocsBuild {
  const wrong = (why: string) => wrongSetting(name, `names the folder ${shown(folder)}, ${why}`, takes)
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
    if (!isManifest(manifest)) throw wrong('whose manifest.json is no list of pages and assets')
    const { pages, assets } = manifest
    for (const needed of ['index.html', '404.html'])
      if (!pages.includes(needed)) throw wrong(`whose manifest.json lacks the page ${needed}`)
    if (pages.length + assets.length > mostFiles) throw wrong(`which has more than ${mostFiles} files`)
    const total = [...pages, ...assets].reduce((sum, path) => sum + statSync(join(folder, path)).size, 0)
    if (total > largestBytes) throw wrong(`which has ${total} bytes`)
    const read = (path: string) => readFileSync(join(folder, path))
    return {
      pages: new Map(pages.map((path) => [path, read(path).toString()])),
      assets: new Map(
        assets.map((path) => [path, { content: read(path), brotli: read(`${path}.br`), gzip: read(`${path}.gz`) }]),
      ),
    }
  } catch (e) {
    if (e instanceof ConfigError) throw e
    const { code, message } = e as NodeJS.ErrnoException
    throw wrong(`which cannot be read (${code ?? message})`)
  }
}

/** A path below the folder. No part of it begins with a dot. */
const isPath = (path: unknown) => typeof path === 'string' && /^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/.test(path)
const isPaths = (paths: unknown): paths is string[] => Array.isArray(paths) && paths.every(isPath)
const isManifest = (manifest: unknown): manifest is { pages: string[]; assets: string[] } =>
  typeof manifest === 'object' &&
  manifest !== null &&
  'pages' in manifest &&
  'assets' in manifest &&
  isPaths(manifest.pages) &&
  isPaths(manifest.assets)
