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

/** Files of these folders end processes, measure memory, or replace what is global: each has a process of its own. */
const apart = /^packages\/(server\/(test\/(faults|memory|interop)|src\/(embedded|kernel))|bench)\//
const together = 8

const cluster = process.env.HOLDFAST_TEST_DATABASE_URL ? undefined : await startTestCluster()
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

/** Resolves with the exit code of `node --test`. */
const run = (files) =>
  new Promise((resolve) => {
    // Files wait for the database much of their time: one more at once than there are cores keeps the cores busy.
    const always = [
      '--test',
      '--test-reporter=spec',
      '--test-timeout=180000',
      `--test-concurrency=${availableParallelism() + 1}`,
    ]
    child = spawn(process.execPath, [...always, ...options, ...files], {
      cwd: root,
      stdio: 'inherit',
      env: environment,
    })
    child.on('exit', (code, signal) => resolve(signal ? 128 + constants.signals[signal] : code))
  })

/** Files of a folder share processes, so that what they import is loaded and compiled once for several of them. */
function grouped(files) {
  const groups = Map.groupBy(files, (file) => (apart.test(file) ? file : dirname(file)))
  return [...groups.values()].flatMap((group) => {
    const count = Math.ceil(group.length / together)
    return Array.from({ length: count }, (_, n) => {
      const mine = group.filter((_, i) => i % count === n)
      if (mine.length === 1) return mine[0]
      const all = join(scratch, `${dirname(mine[0]).replaceAll('/', '-')}-${n + 1}.mjs`)
      writeFileSync(all, mine.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)))}\n`).join(''))
      return all
    })
  })
}

let code = await run(named.length > 0 ? files : grouped(files))
// What the tests' servers sent to PostgreSQL is judged as a whole.
if (code < 128 && readdirSync(statements).length > 0)
  code = (await run(['packages/server/test/statements/judge.ts'])) || code
rmSync(scratch, { recursive: true })
await cluster?.stop()
process.exitCode = code
