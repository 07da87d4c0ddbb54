// npm start: the bundled server where there can be one, else its sources, on the pinned Node; and the web console.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleServer } from './bundle.mjs'
import { buildConsole } from './console.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const warn = (sentence) => process.stderr.write(`${sentence}\n`)
// The console is built by another process while this one bundles the server.
const building = process.env.HOLDFAST_CONSOLE_DIR ? undefined : buildConsole(root, warn)
const bundle = bundleServer(root, warn)
const built = await building
if (built) process.env.HOLDFAST_CONSOLE_DIR = built
process.argv.splice(
  2,
  0,
  // What memory a burst has left empty is given back by the server itself (kernel/give-back.ts).
  '--expose-gc',
  // The young generation is collected while everybody waits: a small one is done sooner, and costs no more in all.
  '--max-semi-space-size=16',
  // Else every 64 MB of buffers, as each read of a socket has one, begin a collection of the whole heap, and each next
  // buffer does a piece of it before it is given: of a large heap that was half a second for everybody.
  '--external-memory-accounted-in-global-limit',
  bundle ?? join(root, 'packages/server/src/main.ts'),
)
await import('./run.mjs')
