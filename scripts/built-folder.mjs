// Folders that a program builds from sources of the checkout, once for each state of the sources.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { cacheFolder, fingerprintOf, finishBuild, isUnwritable, removeOldBuilds } from './build-cache.mjs'

const scripts = dirname(fileURLToPath(import.meta.url))
const longestBuildMs = 120_000

/**
 * Returns the folder of a finished build and builds it if needed; undefined if it can't be built. The build is a
 * separate process, so that the caller can work meanwhile.
 *
 * @param {string} root of the checkout
 * @param {{ name: string, sources: string[], program: string }} build `program` gets the root and the folder, and
 *   writes a manifest.json among its files. Paths are from the root.
 * @param {(reason: string) => void} fail receives the reason if there is none
 * @returns {Promise<string | undefined>}
 */
export async function builtFolder(root, { name, sources, program }, fail) {
  try {
    const finished = join(cacheFolder(root), `${name}-${fingerprintOf(root, sources)}`)
    if (existsSync(join(finished, 'manifest.json'))) return finished
    const unfinished = `${finished}.${process.pid}.${randomBytes(4).toString('hex')}`
    try {
      mkdirSync(unfinished, { recursive: true })
      const problem = await make(root, program, unfinished)
      if (problem !== undefined) return void fail(problem)
      finishBuild(root, unfinished, finished)
    } finally {
      rmSync(unfinished, { recursive: true, force: true })
    }
    removeOldBuilds(root, finished, (built) => built.startsWith(`${name}-`))
    return finished
  } catch (e) {
    return void fail(isUnwritable(e) ? `${cacheFolder(root)} cannot be written (${e.code})` : e.message)
  }
}

/** Resolves with the reason of a failure. `run.mjs` finds the pinned Node, which the programs need. */
function make(root, program, folder) {
  const parts = [join(scripts, 'run.mjs'), join(root, program), root, folder]
  const options = { cwd: root, stdio: ['ignore', 'ignore', 'pipe'], timeout: longestBuildMs }
  const child = spawn(process.execPath, parts, options)
  let said = ''
  child.stderr.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(0, 10_000)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(undefined)
      const lines = stripVTControlCharacters(said)
        .split('\n')
        .map((line) => line.trim())
      resolve(lines.filter(Boolean).slice(0, 3).join('; ').slice(0, 500) || `the build ended with ${signal ?? code}`)
    })
  })
}
