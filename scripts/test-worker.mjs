// Runs one file of tests after the other of those that scripts/test.mjs laid out, beside other workers: what they
// import is loaded once for many.
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'node:test'
import { pathToFileURL } from 'node:url'

const scratch = process.env.HOLDFAST_TEST_SCRATCH
const laidOut = join(scratch, 'files')
/** After so many the next process goes on: what tests leave in memory stays little. */
let left = Number(process.env.HOLDFAST_TEST_FILES)

for (const place of readdirSync(laidOut).sort()) {
  if (left === 0) break
  const running = join(scratch, 'running', place)
  if (!takes(join(laidOut, place), running)) continue
  left--
  const file = readFileSync(running, 'utf8')
  const before = process.cpuUsage()
  await suite(file, () => import(pathToFileURL(file)))
  if (process.env.HOLDFAST_TEST_CPU) {
    const { user, system } = process.cpuUsage(before)
    console.log(`# cpu ${((user + system) / 1e6).toFixed(2)} s: ${file}`)
  }
  rmSync(running)
}
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
