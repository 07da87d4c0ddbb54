// node scripts/run.mjs scripts/test.mjs [options of node --test | files…]: runs every test on one throw-away
// PostgreSQL. Slow tests (*.slow.test.ts) run only if named, as in `npm run test:slow`; so do the console pages in
// every look (*.console.test.ts, `npm run test:console`).
import { spawn } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, constants, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startTestCluster } from '../packages/server/test/support/database/test-database.ts'
import { buildConsole } from './console.mjs'
import { buildDocs } from './docs.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const given = process.argv.slice(2)
const patterns = given.filter((argument) => !argument.startsWith('-'))
const named = patterns.flatMap((p) => (/[*?]/.test(p) ? globSync(p, { cwd: root }).sort() : [p]))
const options = given.filter((argument) => argument.startsWith('-'))
const everything = ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts']
const files =
  named.length > 0 ? named : globSync(everything, { cwd: root, exclude: ['**/*.{slow,console}.test.ts'] }).sort()

/**
 * A file whose first line has this mark, with the reason, has its own process: it would disturb the other files of a
 * process, or they it. The mark is in the file, so that it stays when the file is renamed.
 */
const mark = /^\/\/ Own process: ./
const isAlone = (file) => mark.test(readFileSync(join(root, file), 'utf8'))
/** These cover all operations and take longest, so they start first and none is left at the end. */
const longest = /^(packages\/server\/test\/table|test\/documents)\//
/** Files of these folders wait more than they compute, so they are spread among the first half of the others. */
const waiting = /^packages\/(sdk|server\/test\/(faults|interop))\//

/** These share a process with one browser and one deployment. */
const inBrowser = /^packages\/console\/test\//
const opensBrowser = 'packages/console/test/ground.ts'
/**
 * Each of these has its own process with a browser and a deployment, since it may change the fleet. That also limits
 * its time.
 */
const ownBrowser = /\.console\.test\.ts$/

/** Number of other files per process. */
const together = 48
/** Files often wait for the database: two more processes than cores keep the cores busy. */
const atOnce = availableParallelism() + 2
/** A browser with its deployment keeps a core busy. */
const browsersAtOnce = availableParallelism()

// In a fresh clone each of the first processes would compile everything, since compiled code is cached only when a
// process ends.
const compiled = named.length === 0 && compileOnce()
const building = Promise.all([buildConsole, buildDocs].map((build) => build(root, (why) => console.error(why))))
const cluster = process.env.HOLDFAST_TEST_DATABASE_URL ? undefined : await startTestCluster()
await compiled
const [consoleDir, docsDir] = await building
const scratch = mkdtempSync(join(tmpdir(), 'hft-run-'))
const statements = join(scratch, 'statements')
for (const folder of ['statements', 'files', 'running']) mkdirSync(join(scratch, folder))
const environment = {
  ...process.env,
  HOLDFAST_TEST_SCRATCH: scratch,
  HOLDFAST_TEST_FILES: together,
  HOLDFAST_TEST_STATEMENTS: statements,
  ...(consoleDir && { HOLDFAST_TEST_CONSOLE_DIR: consoleDir }),
  ...(docsDir && { HOLDFAST_TEST_DOCS_DIR: docsDir }),
  ...(named.length === 0 && { HOLDFAST_TEST_WHOLE_RUN: '1' }),
  ...(cluster && { HOLDFAST_TEST_DATABASE_URL: cluster.url }),
}
let child
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))

/** Resolves at its end in any case; the tests report errors. */
function compileOnce() {
  const code = `await import(${JSON.stringify(pathToFileURL(join(root, 'packages/server/test/support/deployment/deployment.ts')))})`
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
 * Returns the files that start processes: those with their own process, and workers that run the others one after the
 * other, in an order that keeps the cores busy to the end.
 */
function distributed(files) {
  const { true: own = [], false: others = [] } = Object.groupBy(files.filter(isNoPage), isAlone)
  // Files of the server take longer than those of other packages, which come last.
  const { true: waits = [], false: computes = [] } = Object.groupBy(others.reverse(), (file) => waiting.test(file))
  const order = [
    ...waits.map((file, i) => ({ file, at: (i + 0.5) / waits.length / 2 })),
    ...computes.map((file, i) => ({ file, at: longest.test(file) ? 0 : (i + 0.5) / computes.length })),
  ].sort((a, b) => a.at - b.at)
  for (const [i, { file }] of order.entries()) writeFileSync(join(scratch, 'files', nth(i)), file)
  // Surplus workers help at the end, or find no file and exit at once.
  const workers = Array(Math.ceil(others.length / together) + atOnce).fill('scripts/test-worker.mjs')
  // The runner starts files by name. Workers come before the files with their own process: as many as run at once, less
  // one.
  const each = [...workers.slice(0, atOnce - 1), ...own, ...workers.slice(atOnce - 1)]
  return [...pagesOf(files), ...each.map((file, i) => beginning(nth(i + 1), [file]))]
}

const isNoPage = (file) => !inBrowser.test(file)
/** Returns the processes of files that need a browser. Their names make the runner start them first. */
function pagesOf(files) {
  const pages = files.filter((file) => !isNoPage(file))
  const { true: own = [], false: shared = [] } = Object.groupBy(pages, (file) => ownBrowser.test(file))
  const groups = [...(shared.length > 0 ? [shared] : []), ...own.map((file) => [file])]
  return groups.map((suites, i) => beginning(`${nth(0)}-${i}`, [opensBrowser], suites))
}
const withPages = (files) => [...pagesOf(files), ...files.filter(isNoPage)]

/**
 * Writes a file that imports the first files and then runs the others one after the other. The suites are not awaited,
 * so that the hooks of the process run after the last one.
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
// Checks all statements that the tests' servers sent to PostgreSQL.
if (code < 128 && readdirSync(statements).length > 0)
  code = (await run(['packages/server/test/statements/judge.ts'])) || code
rmSync(scratch, { recursive: true })
await cluster?.stop()
process.exitCode = code
