// npm start: the bundled server if possible, else its sources, on the pinned Node; and the web console.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleServer } from './bundle.mjs'
import { buildConsole } from './console.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const warn = (sentence) => process.stderr.write(`${sentence}\n`)
// Another process builds the console while this one bundles the server.
const building = process.env.HOLDFAST_CONSOLE_DIR ? undefined : buildConsole(root, warn)
const bundle = bundleServer(root, warn)
const built = await building
if (built) process.env.HOLDFAST_CONSOLE_DIR = built
process.argv.splice(
  2,
  0,
  // Lets the server return unused memory to the system after a burst (app/collect-when-idle.ts).
  '--expose-gc',
  // A collection of the young generation pauses all requests. A small one is faster, and costs no more in total.
  '--max-semi-space-size=16',
  // Otherwise every 64 MB of buffers, such as those of socket reads, start a collection of the whole heap, and each
  // following allocation does a part of it first. With a large heap that paused all requests for half a second.
  '--external-memory-accounted-in-global-limit',
  bundle ?? join(root, 'packages/server/src/main.ts'),
)
await import('./run.mjs')
