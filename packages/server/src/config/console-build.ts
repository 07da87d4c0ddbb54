import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, shown, wrongSetting } from './wrong-setting.ts'

/** A file of the console, with the compressed copies that its build made. */
type BuiltFile = { content: Buffer; brotli: Buffer | undefined; gzip: Buffer | undefined }

/** The web console as built by Vite, in memory. File names are relative to `assets/`. */
export type ConsoleBuild = {
  script: string
  /** Needs of each view, by the view's path. `$name` stands for one segment. */
  views: ReadonlyMap<string, ViewNeeds>
  files: ReadonlyMap<string, BuiltFile>
}

/**
 * What a view needs besides the script: modules that the script and the view import, styles, and paths of its first
 * reads.
 */
type ViewNeeds = {
  preloads: readonly string[]
  styles: readonly string[]
  reads: readonly string[]
  /** Permission that the reads need besides their own. */
  permission: string | undefined
}
type Route = { module: string; permission?: string; reads?: readonly string[] }
type Chunk = { file: string; isEntry?: boolean; imports?: string[]; css?: string[] }

const name = 'HOLDFAST_CONSOLE_DIR'
const takes = 'the folder that scripts/console.mjs builds, with manifest.json, routes.json and assets'
const mostFiles = 2_000
const largestBytes = 64 * 1024 * 1024

/**
 * Reads the build that `HOLDFAST_CONSOLE_DIR` names.
 *
 * @throws ConfigError if it is no build
 */
export function readConsoleBuild(folder: string): ConsoleBuild {
  const wrong = (why: string) => wrongSetting(name, `names the folder ${shown(folder)}, ${why}`, takes)
  try {
    const routes: unknown = JSON.parse(readFileSync(join(folder, 'routes.json'), 'utf8'))
    if (!isRoutes(routes)) throw wrong('whose routes.json is not a map of paths to views')
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Record<string, Chunk>
    const entry = Object.values(manifest).find((chunk) => chunk.isEntry)
    if (!entry) throw wrong('whose manifest.json has no entry module')
    const views = new Map<string, ViewNeeds>()
    for (const [path, { module, permission, reads = [] }] of Object.entries(routes)) {
      const view = manifest[module]
      if (!view) throw wrong(`whose manifest.json lacks the module ${module}`)
      const chunks = importsOf([entry, view], manifest)
      views.set(path, {
        preloads: chunks.filter((chunk) => chunk !== entry).map((chunk) => assetOf(chunk.file)),
        styles: [...new Set(chunks.flatMap(({ css = [] }) => css).map(assetOf))],
        reads,
        permission,
      })
    }
    const files = readFiles(join(folder, 'assets'), wrong)
    const build = { script: assetOf(entry.file), views, files }
    const named = Array.from(views.values(), ({ preloads, styles }) => [...preloads, ...styles]).flat()
    const missing = [build.script, ...named].find((file) => !files.has(file))
    if (missing !== undefined) throw wrong(`which lacks the file assets/${missing}`)
    return build
  } catch (e) {
    if (e instanceof ConfigError) throw e
    const { code, message } = e as NodeJS.ErrnoException
    throw wrong(`which cannot be read (${code ?? message})`)
  }
}

const isPath = (path: string) => /^\/admin(?:\/(?:[a-z0-9-]+|\$[a-z0-9_]+))*$/.test(path)
const isRoutes = (routes: unknown): routes is Record<string, Route> =>
  isObject(routes) && Object.entries(routes).every(([path, route]) => isPath(path) && isRoute(route))
const isRoute = (route: unknown): route is Route =>
  isObject(route) &&
  typeof route.module === 'string' &&
  (route.permission === undefined || typeof route.permission === 'string') &&
  (route.reads === undefined || (Array.isArray(route.reads) && route.reads.every(isRead)))
const isRead = (read: unknown) => typeof read === 'string' && /^\/v1\/admin\/[\w/?=&-]+$/.test(read)
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const assetOf = (file: string): string => file.replace(/^assets\//, '')

/** Returns chunks and all their static imports, transitively, each once. */
function importsOf(chunks: readonly Chunk[], manifest: Record<string, Chunk>): Chunk[] {
  const found = new Set<Chunk>()
  const add = (chunk: Chunk | undefined): void => {
    if (!chunk || found.has(chunk)) return
    found.add(chunk)
    for (const key of chunk.imports ?? []) add(manifest[key])
  }
  for (const chunk of chunks) add(chunk)
  return [...found]
}

function readFiles(folder: string, wrong: (why: string) => ConfigError): Map<string, BuiltFile> {
  const names = readdirSync(folder)
  if (names.length > mostFiles) throw wrong(`which has more than ${mostFiles} files`)
  const total = names.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  if (total > largestBytes) throw wrong(`which has ${total} bytes`)
  const all = new Set(names)
  const read = (file: string) => (all.has(file) ? readFileSync(join(folder, file)) : undefined)
  return new Map(
    names
      .filter((file) => !/\.(?:br|gz)$/.test(file))
      .map((file) => [
        file,
        { content: readFileSync(join(folder, file)), brotli: read(`${file}.br`), gzip: read(`${file}.gz`) },
      ]),
  )
}
