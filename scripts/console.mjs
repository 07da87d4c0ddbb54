// The files of the web console, which Vite builds from packages/console when its sources have changed.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { cacheFolder, filesBelow, fingerprintOf, finishBuild, isUnwritable, removeOldBuilds } from './build-cache.mjs'

const scripts = dirname(fileURLToPath(import.meta.url))
const longestBuildMs = 120_000

/**
 * Returns the folder of the built console and builds it if needed; undefined if it can't be built. The build is a
 * separate process, so that the caller can work meanwhile.
 *
 * @param {string} root of the checkout
 * @param {(sentence: string) => void} warn receives the reason if there is none
 * @returns {Promise<string | undefined>}
 */
export async function buildConsole(root, warn) {
  const missing = (why) => warn(`The web console was not built, so /admin shows a plain page: ${why}.`)
  try {
    const finished = join(cacheFolder(root), `console-${fingerprint(root)}`)
    if (existsSync(join(finished, 'manifest.json'))) return finished
    const unfinished = `${finished}.${process.pid}.${randomBytes(4).toString('hex')}`
    try {
      mkdirSync(unfinished, { recursive: true })
      const problem = await make(root, unfinished)
      if (problem !== undefined) return missing(problem)
      finishBuild(root, unfinished, finished)
    } finally {
      rmSync(unfinished, { recursive: true, force: true })
    }
    removeOldBuilds(root, finished, (name) => name.startsWith('console-'))
    return finished
  } catch (e) {
    return missing(isUnwritable(e) ? `${cacheFolder(root)} can not be written (${e.code})` : e.message)
  }
}

/** Fingerprint of all sources of the build. */
const fingerprint = (root) =>
  fingerprintOf(root, [
    ...filesBelow(root, 'packages/console/src', /\.\w+$/),
    ...filesBelow(root, 'packages/contract/src', /\.ts$/),
    ...['vite.config.ts', 'package.json', 'tsconfig.json'].map((name) => `packages/console/${name}`),
    ...['package-lock.json', 'scripts/console.mjs', 'scripts/console-build.mjs'],
  ])

/** Resolves with the reason of a failure. `run.mjs` finds the pinned Node, which Vite needs. */
function make(root, folder) {
  const parts = [join(scripts, 'run.mjs'), join(scripts, 'console-build.mjs'), root, folder]
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
      resolve(lines.filter(Boolean).slice(0, 3).join(' ').slice(0, 500) || `the build ended with ${signal ?? code}`)
    })
  })
}
