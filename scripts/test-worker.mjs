// Runs one file of tests after the other of those that scripts/test.mjs laid out, beside other workers, until none is
// left: what they import is loaded once for many.
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'node:test'
import { pathToFileURL } from 'node:url'

const scratch = process.env.HOLDFAST_TEST_SCRATCH
const laidOut = join(scratch, 'files')

for (const place of readdirSync(laidOut).sort()) {
  const running = join(scratch, 'running', place)
  if (!takes(join(laidOut, place), running)) continue
  const file = readFileSync(running, 'utf8')
  await suite(file, () => import(pathToFileURL(file)))
  rmSync(running)
}

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
