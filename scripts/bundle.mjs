// The server as one file, which esbuild makes from the sources when they have changed. It starts faster and uses less
// memory than the sources, whose types Node strips as it loads them. Without esbuild, or without write access, the
// sources run unchanged.
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheFolder, filesBelow, fingerprintOf, finishBuild, isUnwritable, removeOldBuilds } from './build-cache.mjs'

const inBundle = join('server', 'src', 'main.mjs')
/** Entry points of processes. In the bundle they are in one folder. */
const entries = ['main.ts', 'modules/trust/keys/pkcs11/token-process.ts'].map((file) => `packages/server/src/${file}`)
/** Names of console builds have a prefix. */
const isOfServer = (name) => /^[0-9a-f]{32}/.test(name)

/** Defines `require` for CommonJS packages in the bundle. */
const banner =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);"

/**
 * Returns the path of the bundled server and makes it if needed; undefined if it can't be made.
 * @param {string} root of the checkout
 * @param {(sentence: string) => void} warn
 * @returns {string | undefined}
 */
export function bundleServer(root, warn = () => {}) {
  try {
    const finished = join(cacheFolder(root), fingerprint(root))
    const file = join(finished, inBundle)
    if (existsSync(file)) return file
    const esbuild = findEsbuild(root)
    if (!esbuild) return undefined
    const unfinished = `${finished}.${process.pid}.${randomBytes(4).toString('hex')}`
    try {
      make(root, esbuild, unfinished)
      finishBuild(root, unfinished, finished)
    } finally {
      rmSync(unfinished, { recursive: true, force: true })
    }
    removeOldBuilds(root, finished, isOfServer)
    return file
  } catch (e) {
    if (!isUnwritable(e)) warn(`The server could not be bundled, so its sources run: ${e.message}.`)
    return undefined
  }
}

/** Fingerprint of all sources of the bundle. */
function fingerprint(root) {
  const files = ['contract', 'crypto', 'policy', 'server'].flatMap((name) =>
    ['src', 'migrations'].flatMap((part) => filesBelow(root, join('packages', name, part), /\.(ts|sql|json)$/)),
  )
  return fingerprintOf(root, [...files, 'package-lock.json', 'scripts/bundle.mjs'])
}

function findEsbuild(root) {
  const { platform, arch } = process
  const program = platform === 'win32' ? 'esbuild.exe' : join('bin', 'esbuild')
  const file = join(root, 'node_modules', '@esbuild', `${platform}-${arch}`, program)
  return existsSync(file) ? file : undefined
}

/** Makes the bundle. The migrations are at the same relative path as in the sources, two folders above the code. */
function make(root, esbuild, to) {
  mkdirSync(join(to, 'server', 'src'), { recursive: true })
  const options = [
    ...[
      '--entry-names=[name]',
      '--bundle',
      '--platform=node',
      '--format=esm',
      '--target=node24',
      '--external:pg-native',
    ],
    // Modules that are imported later are separate files. The text of a loaded file stays in memory, so comments are
    // removed; their non-ASCII characters would also double its size.
    ...['--splitting', '--out-extension:.js=.mjs', '--minify-whitespace', '--minify-syntax'],
    ...[
      '--sourcemap=linked',
      '--sources-content=false',
      '--legal-comments=none',
      '--log-level=error',
      `--banner:js=${banner}`,
    ],
  ]
  const made = spawnSync(esbuild, [...entries, ...options, `--outdir=${dirname(join(to, inBundle))}`], {
    cwd: root,
    encoding: 'utf8',
  })
  if (made.error) throw made.error
  if (made.status !== 0) throw new Error(made.stderr.trim().split('\n')[0] || `esbuild ended with ${made.status}`)
  cpSync(join(root, 'packages/server/migrations'), join(to, 'migrations'), { recursive: true })
}
