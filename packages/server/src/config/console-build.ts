import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, shown, wrongSetting } from './wrong-setting.ts'

/** A file of the console, with the compressed copies that its build made. */
type BuiltFile = { content: Buffer; brotli: Buffer | undefined; gzip: Buffer | undefined }

/** The web console as built by Vite, in memory. File names are relative to `assets/`. */
export type ConsoleBuild = {
  /** Paths of its views. `$name` stands for one segment. */
  paths: readonly string[]
  script: string
  /** Files that the script imports before it runs. */
  preloads: readonly string[]
  styles: readonly string[]
  files: ReadonlyMap<string, BuiltFile>
}

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
    const paths: unknown = JSON.parse(readFileSync(join(folder, 'routes.json'), 'utf8'))
    if (!Array.isArray(paths) || !paths.every(isPath)) throw wrong('whose routes.json is no list of paths')
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Record<string, Chunk>
    const entry = Object.values(manifest).find((chunk) => chunk.isEntry)
    if (!entry) throw wrong('whose manifest.json names no entry')
    const files = readFiles(join(folder, 'assets'), wrong)
    const imported = importsOf(entry, manifest)
    const build = {
      paths,
      script: assetOf(entry.file),
      preloads: imported.map((chunk) => assetOf(chunk.file)),
      styles: [...new Set([entry, ...imported].flatMap((chunk) => chunk.css ?? []).map(assetOf))],
      files,
    }
    const missing = [build.script, ...build.preloads, ...build.styles].find((file) => !files.has(file))
    if (missing !== undefined) throw wrong(`which lacks the file assets/${missing}`)
    return build
  } catch (e) {
    if (e instanceof ConfigError) throw e
    const { code, message } = e as NodeJS.ErrnoException
    throw wrong(`which can not be read (${code ?? message})`)
  }
}

const isPath = (path: unknown): path is string =>
  typeof path === 'string' && /^\/admin(?:\/(?:[a-z0-9-]+|\$[a-z0-9_]+))*$/.test(path)
const assetOf = (file: string): string => file.replace(/^assets\//, '')

/** Returns all static imports of a chunk, transitively, each once. */
function importsOf(chunk: Chunk, manifest: Record<string, Chunk>): Chunk[] {
  const found = new Set<Chunk>()
  const add = ({ imports = [] }: Chunk): void => {
    for (const key of imports) {
      const imported = manifest[key]
      if (!imported || found.has(imported)) continue
      found.add(imported)
      add(imported)
    }
  }
  add(chunk)
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
