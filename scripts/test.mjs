// node scripts/run.mjs scripts/test.mjs [options of node --test | files…]: every test, on one throw-away PostgreSQL.
// Tests that take long (*.slow.test.ts) run only where they are named, as `npm run test:slow` names them.
import { spawn } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, constants, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startTestCluster } from '../packages/server/src/embedded/test-database.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const given = process.argv.slice(2)
const patterns = given.filter((argument) => !argument.startsWith('-'))
const named = patterns.flatMap((p) => (/[*?]/.test(p) ? globSync(p, { cwd: root }).sort() : [p]))
const options = given.filter((argument) => argument.startsWith('-'))
const everything = ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts']
const files = named.length > 0 ? named : globSync(everything, { cwd: root, exclude: ['**/*.slow.test.ts'] }).sort()

/**
 * These files measure memory, look for all that their process has started, or send what is not to be judged: each has
 * a process of its own.
 */
const alone = /^packages\/server\/(test\/(memory\/|faults\/jobs\.)|src\/embedded\/)/
/** Files of these folders wait more than they compute. */
const waiting = /^packages\/(sdk|server\/(test\/(faults|interop|memory)|src\/embedded))\//
/** These walk over everything that there is, which takes longest: they begin first, so that none is left at the end. */
const longest = /^packages\/server\/test\/table\//
/** The others share processes by folder or package, so that what they import is loaded once for several of them. */
const shared = /^packages\/server\/(src\/kernel|src|test\/[^/]+)|^packages\/[^/]+|^[^/]+/
const together = 14
/** Of those that wait: they take long, whatever else runs. */
const waitTogether = 5

// Of a fresh clone the first processes would each compile all of it, since what one has compiled is there once it ends.
const compiled = named.length === 0 && compileOnce()
const cluster = process.env.HOLDFAST_TEST_DATABASE_URL ? undefined : await startTestCluster()
await compiled
const scratch = mkdtempSync(join(tmpdir(), 'hft-run-'))
const statements = join(scratch, 'statements')
mkdirSync(statements)
const environment = {
  ...process.env,
  HOLDFAST_TEST_STATEMENTS: statements,
  ...(named.length === 0 && { HOLDFAST_TEST_WHOLE_RUN: '1' }),
  ...(cluster && { HOLDFAST_TEST_DATABASE_URL: cluster.url }),
}
let child
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))

/** Resolves when it has ended, however: the tests say what is wrong. */
function compileOnce() {
  const code = `await import(${JSON.stringify(pathToFileURL(join(root, 'packages/server/test/kit.ts')))})`
  const options = { cwd: root, stdio: 'ignore', timeout: 30_000 }
  const compiling = spawn(process.execPath, ['--input-type=module', '-e', code], options)
  return new Promise((resolve) => compiling.on('close', resolve).on('error', resolve))
}

/** Resolves with the exit code of `node --test`. */
const run = (files) =>
  new Promise((resolve) => {
    // Files wait for the database much of their time: two more at once than there are cores keep the cores busy.
    const always = [
      '--test',
      '--test-reporter=spec',
      '--test-timeout=180000',
      `--test-concurrency=${availableParallelism() + 2}`,
    ]
    child = spawn(process.execPath, [...always, ...options, ...files], {
      cwd: root,
      stdio: 'inherit',
      env: environment,
    })
    child.on('exit', (code, signal) => resolve(signal ? 128 + constants.signals[signal] : code))
  })

/**
 * A file for each process, of which the runner takes one after the other by name: those that wait are spread among the
 * first of those that compute, so that the cores are busy to the end.
 */
function grouped(files) {
  const families = Map.groupBy(files, (file) => (alone.test(file) ? file : shared.exec(file)[0]))
  // Those of the server take longer than those of the other packages, which fill the end.
  const groups = [...families.values()].reverse().flatMap((family) => {
    const count = Math.ceil(family.length / (waiting.test(family[0]) ? waitTogether : together))
    return Array.from({ length: count }, (_, n) => family.filter((_, i) => i % count === n))
  })
  const both = Map.groupBy(groups, ([file]) => waiting.test(file))
  const spread = [...both.values()].flatMap((some) =>
    some.map((group, i) => {
      const [file] = group
      const share = (i + 0.5) / some.length
      return { group, at: longest.test(file) ? 0 : waiting.test(file) ? share / 2 : share }
    }),
  )
  return spread
    .sort((a, b) => a.at - b.at)
    .map(({ group }, i) => {
      const all = join(scratch, `${String(i).padStart(3, '0')}.mjs`)
      writeFileSync(all, group.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)))}\n`).join(''))
      return all
    })
}

let code = await run(named.length > 0 ? files : grouped(files))
// What the tests' servers sent to PostgreSQL is judged as a whole.
if (code < 128 && readdirSync(statements).length > 0)
  code = (await run(['packages/server/test/statements/judge.ts'])) || code
rmSync(scratch, { recursive: true })
await cluster?.stop()
process.exitCode = code
