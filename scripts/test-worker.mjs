// Runs test files from the queue of scripts/test.mjs one after the other, in parallel with other workers, so that
// imports are loaded once for many files.
import asyncHooks from 'node:async_hooks'
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const scratch = process.env.HOLDFAST_TEST_SCRATCH
const laidOut = join(scratch, 'files')
/** Number of files after which the next process takes over, which limits the memory that tests leave behind. */
let left = Number(process.env.HOLDFAST_TEST_FILES)

// The test runner tracks every promise to find its test, which takes a tenth of the CPU. So its hook is enabled only
// while a file is loaded, which finds the suite of its tests, and disabled while they run.
const { createHook } = asyncHooks
let following
asyncHooks.createHook = (callbacks) => {
  following = createHook(callbacks)
  return following
}
const { suite } = await import('node:test')
asyncHooks.createHook = createHook

let file
// Such an error fails the process instead of a test, and the runner prints it without its stack.
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error) => console.error(`${event} in ${file}:`, error))

// A test may wait for work that does not keep the process alive, such as a timer of a server.
const awake = setInterval(() => {}, 60_000)
for (const place of readdirSync(laidOut).sort()) {
  if (left === 0) break
  const running = join(scratch, 'running', place)
  if (!takes(join(laidOut, place), running)) continue
  left--
  file = readFileSync(running, 'utf8')
  const before = process.cpuUsage()
  // The runner creates and enables the hook with the first suite.
  following?.enable()
  await suite(file, () => import(pathToFileURL(file)).finally(() => following?.disable()))
  if (process.env.HOLDFAST_TEST_CPU) {
    const { user, system } = process.cpuUsage(before)
    const { rss } = process.memoryUsage()
    console.log(`# cpu ${((user + system) / 1e6).toFixed(2)} s, ${Math.round(rss / 1e6)} MB held: ${file}`)
  }
  rmSync(running)
}
clearInterval(awake)
// Resources that a failed test left open must not delay the report.
setTimeout(() => {
  console.error(`left open: ${process.getActiveResourcesInfo().join(', ')}`)
  process.exit(1)
}, 30_000).unref()

/** Claims a file: of all workers, one succeeds. */
function takes(from, to) {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}
