// node scripts/run.mjs scripts/test.mjs [options of node --test | files…]: every test, on one throw-away PostgreSQL.
// Tests that take long (*.slow.test.ts) run only where they are named, as `npm run test:slow` names them; so do the
// pages of the console in every look (*.console.test.ts, `npm run test:console`).
import { spawn } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, constants, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startTestCluster } from '../packages/server/src/embedded/test-database.ts'
import { buildConsole } from './console.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const given = process.argv.slice(2)
const patterns = given.filter((argument) => !argument.startsWith('-'))
const named = patterns.flatMap((p) => (/[*?]/.test(p) ? globSync(p, { cwd: root }).sort() : [p]))
const options = given.filter((argument) => argument.startsWith('-'))
const everything = ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts']
const files =
  named.length > 0 ? named : globSync(everything, { cwd: root, exclude: ['**/*.{slow,console}.test.ts'] }).sort()

/**
 * These files measure memory, look for all that their process has started, send what is not to be judged, or turn the
 * hands of a clock so far that timers no longer ring afterwards: each has a process of its own.
 */
const alone = /^packages\/server\/(test\/(memory\/|faults\/jobs\.)|src\/(embedded\/|kernel\/ticks\.))/
/** These walk over everything that there is, which takes longest: they begin first, so that none is left at the end. */
const longest = /^packages\/server\/test\/table\//
/** Files of these folders wait more than they compute: they are spread among the first half of the others. */
const waiting = /^packages\/(sdk|server\/test\/(faults|interop))\//

/** These share a process, which has one browser and one deployment for all of them. */
const inBrowser = /^packages\/console\/test\//
const opensBrowser = 'packages/console/test/ground.ts'
/** Each of these has a process with a browser and a deployment of its own: it may change the fleet, and ends in time. */
const ownBrowser = /\.console\.test\.ts$/

/** So many files share a process, of the others. */
const together = 48
/** Files wait for the database much of their time: two more at once than there are cores keep the cores busy. */
const atOnce = availableParallelism() + 2
/** A browser with its deployment keeps a core busy. */
const browsersAtOnce = availableParallelism()

// Of a fresh clone the first processes would each compile all of it, since what one has compiled is there once it ends.
const compiled = named.length === 0 && compileOnce()
const building = buildConsole(root, (sentence) => console.error(sentence))
const cluster = process.env.HOLDFAST_TEST_DATABASE_URL ? undefined : await startTestCluster()
await compiled
const consoleDir = await building
const scratch = mkdtempSync(join(tmpdir(), 'hft-run-'))
const statements = join(scratch, 'statements')
for (const folder of ['statements', 'files', 'running']) mkdirSync(join(scratch, folder))
const environment = {
  ...process.env,
  HOLDFAST_TEST_SCRATCH: scratch,
  HOLDFAST_TEST_FILES: together,
  HOLDFAST_TEST_STATEMENTS: statements,
  ...(consoleDir && { HOLDFAST_TEST_CONSOLE_DIR: consoleDir }),
  ...(named.length === 0 && { HOLDFAST_TEST_WHOLE_RUN: '1' }),
  ...(cluster && { HOLDFAST_TEST_DATABASE_URL: cluster.url }),
}
let child
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))

/** Resolves when it has ended, however: the tests say what is wrong. */
function compileOnce() {
  const code = `await import(${JSON.stringify(pathToFileURL(join(root, 'packages/server/test/kit.ts')))})`
  const quietly = { cwd: root, stdio: 'ignore', timeout: 30_000 }
  const compiling = spawn(process.execPath, ['--input-type=module', '-e', code], quietly)
  return new Promise((resolve) => compiling.on('close', resolve).on('error', resolve))
}

/** Resolves with the exit code of `node --test`. */
const run = (files) =>
  new Promise((resolve) => {
    const concurrency = named.some((file) => ownBrowser.test(file)) ? browsersAtOnce : atOnce
    const always = ['--test', '--test-reporter=spec', '--test-timeout=180000', `--test-concurrency=${concurrency}`]
    child = spawn(process.execPath, [...always, ...options, ...files], {
      cwd: root,
      stdio: 'inherit',
      env: environment,
    })
    child.on('exit', (code, signal) => resolve(signal ? 128 + constants.signals[signal] : code))
  })

const nth = (i) => String(i).padStart(3, '0')

/**
 * Of all files, those that begin processes: the ones that have their own, and workers that take the others one after
 * the other, in an order that keeps the cores busy to the end.
 */
function distributed(files) {
  const { true: own = [], false: others = [] } = Object.groupBy(files.filter(isNoPage), (file) => alone.test(file))
  // Those of the server take longer than those of the other packages, which fill the end.
  const { true: waits = [], false: computes = [] } = Object.groupBy(others.reverse(), (file) => waiting.test(file))
  const order = [
    ...waits.map((file, i) => ({ file, at: (i + 0.5) / waits.length / 2 })),
    ...computes.map((file, i) => ({ file, at: longest.test(file) ? 0 : (i + 0.5) / computes.length })),
  ].sort((a, b) => a.at - b.at)
  for (const [i, { file }] of order.entries()) writeFileSync(join(scratch, 'files', nth(i)), file)
  // Those that are more than needed help at the end, or find nothing left and end at once.
  const workers = Array(Math.ceil(others.length / together) + atOnce).fill('scripts/test-worker.mjs')
  // The runner begins them by name, these before those that have their own: as many as wait at once, less one.
  const each = [...workers.slice(0, atOnce - 1), ...own, ...workers.slice(atOnce - 1)]
  return [...pagesOf(files), ...each.map((file, i) => beginning(nth(i + 1), [file]))]
}

const isNoPage = (file) => !inBrowser.test(file)
/** The processes of those that need a browser. Their names make the runner begin them first. */
function pagesOf(files) {
  const pages = files.filter((file) => !isNoPage(file))
  const { true: own = [], false: shared = [] } = Object.groupBy(pages, (file) => ownBrowser.test(file))
  const groups = [...(shared.length > 0 ? [shared] : []), ...own.map((file) => [file])]
  return groups.map((suites, i) => beginning(`${nth(0)}-${i}`, [opensBrowser], suites))
}
const withPages = (files) => [...pagesOf(files), ...files.filter(isNoPage)]

/**
 * A process that loads the first files, and then runs the others one after the other. None is awaited: after the last
 * one that was begun the hooks of the process run.
 */
function beginning(name, first, suites = []) {
  const begins = join(scratch, `${name}.mjs`)
  const url = (file) => JSON.stringify(pathToFileURL(join(root, file)))
  const lines = [
    // A worker takes the hook of the test runner, which must not be loaded before it.
    ...(suites.length > 0 ? ["import { suite } from 'node:test'"] : []),
    ...first.map((file) => `import ${url(file)}`),
    ...suites.map((file) => `suite(${JSON.stringify(file)}, () => import(${url(file)}))`),
  ]
  writeFileSync(begins, `${lines.join('\n')}\n`)
  return begins
}

let code = await run(named.length > 0 ? withPages(files) : distributed(files))
const unfinished = ['files', 'running'].flatMap((folder) =>
  readdirSync(join(scratch, folder)).map((place) => readFileSync(join(scratch, folder, place), 'utf8')),
)
if (unfinished.length > 0 && code === 0) {
  console.error(`A process ended before its tests had. Not run to their end:\n${unfinished.join('\n')}`)
  code = 1
}
// What the tests' servers sent to PostgreSQL is judged as a whole.
if (code < 128 && readdirSync(statements).length > 0)
  code = (await run(['packages/server/test/statements/judge.ts'])) || code
rmSync(scratch, { recursive: true })
await cluster?.stop()
process.exitCode = code
