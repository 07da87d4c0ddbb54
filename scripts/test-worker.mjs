// Runs one file of tests after the other of those that scripts/test.mjs laid out, beside other workers: what they
// import is loaded once for many.
import asyncHooks from 'node:async_hooks'
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const scratch = process.env.HOLDFAST_TEST_SCRATCH
const laidOut = join(scratch, 'files')
/** After so many the next process goes on: what tests leave in memory stays little. */
let left = Number(process.env.HOLDFAST_TEST_FILES)

// The test runner follows every promise, to know the test that it belongs to, which takes a tenth of the CPU. Its hook
// is kept here: it is on while a file is loaded, which finds the suite of its tests, and off while they run.
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

// A test may wait for what keeps no process alive, such as a timer of a server.
const awake = setInterval(() => {}, 60_000)
for (const place of readdirSync(laidOut).sort()) {
  if (left === 0) break
  const running = join(scratch, 'running', place)
  if (!takes(join(laidOut, place), running)) continue
  left--
  file = readFileSync(running, 'utf8')
  const before = process.cpuUsage()
  // The runner makes and enables it with the first suite.
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
// What a failed test has left open must not keep the others from being told.
setTimeout(() => {
  console.error(`left open: ${process.getActiveResourcesInfo().join(', ')}`)
  process.exit(1)
}, 30_000).unref()

/** Of all workers one. */
function takes(from, to) {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}
