// The server as one file, made by esbuild from the sources when these have changed: it starts in less time and holds
// less memory than the sources, whose types Node strips as it loads them. Without esbuild, or where nothing may be
// written, the sources run as they are.
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cacheFolder, filesBelow, fingerprintOf, finishBuild, isUnwritable, removeOldBuilds } from './build-cache.mjs'

const inBundle = join('server', 'src', 'main.mjs')
/** What is a process of its own, or a part of one; all of them lie beside each other in the bundle. */
const entries = ['main.ts', 'modules/trust/keys/pkcs11/token-process.ts'].map((file) => `packages/server/src/${file}`)
/** Those of the console have a prefix. */
const isOfServer = (name) => /^[0-9a-f]{32}/.test(name)

/** What the bundle has that the sources give by themselves: `require` for CommonJS packages. */
const banner =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);"

/**
 * The path of the bundled server, made now unless it exists already; undefined where there is none to be had.
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

/** Of everything that the bundle is made of. */
function fingerprint(root) {
  const files = ['contract', 'crypto', 'policy', 'server'].flatMap((name) =>
    ['src', 'migrations'].flatMap((part) => filesBelow(root, join('packages', name, part), /\.(ts|sql)$/)),
  )
  return fingerprintOf(root, [...files, 'package-lock.json', 'scripts/bundle.mjs'])
}

function findEsbuild(root) {
  const { platform, arch } = process
  const program = platform === 'win32' ? 'esbuild.exe' : join('bin', 'esbuild')
  const file = join(root, 'node_modules', '@esbuild', `${platform}-${arch}`, program)
  return existsSync(file) ? file : undefined
}

/** The migrations lie where the bundled code looks for them: two folders above itself. */
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
    // What is imported when it is first needed is a file of its own. The text of a file is held for as long as it runs:
    // no comments, whose letters would also make it twice as long in memory.
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
