// npm start: the bundled server where there can be one, else its sources, on the pinned Node.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleServer } from './bundle.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bundle = bundleServer(root, (sentence) => process.stderr.write(`${sentence}\n`))
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
