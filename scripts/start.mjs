// npm start: the bundled server if possible, else its sources, on the pinned Node; the web console; the documentation.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleServer } from './bundle.mjs'
import { buildConsole } from './console.mjs'
import { buildDocs } from './docs.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const warn = (sentence) => process.stderr.write(`${sentence}\n`)
// Other processes build the console and the documentation while this one bundles the server.
const building = Object.entries({ HOLDFAST_CONSOLE_DIR: buildConsole, HOLDFAST_DOCS_DIR: buildDocs })
  .filter(([name]) => !process.env[name])
  .map(async ([name, build]) => [name, await build(root, warn)])
const bundle = bundleServer(root, warn)
for (const [name, built] of await Promise.all(building)) if (built) process.env[name] = built
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
