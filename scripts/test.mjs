// node scripts/run.mjs scripts/test.mjs [options of node --test | files…]: every test, on one throw-away PostgreSQL.
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startTestCluster } from '../packages/server/src/embedded/test-database.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const given = process.argv.slice(2)
const named = given.filter((argument) => !argument.startsWith('-'))
const options = given.filter((argument) => argument.startsWith('-'))
const everything = ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts']
const files = named.length > 0 ? named : globSync(everything, { cwd: root }).sort()

const cluster = process.env.HOLDFAST_TEST_DATABASE_URL ? undefined : await startTestCluster()
const child = spawn(
  process.execPath,
  ['--test', '--test-reporter=spec', '--test-timeout=180000', ...options, ...files],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...(cluster && { HOLDFAST_TEST_DATABASE_URL: cluster.url }) },
  },
)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', async (code, signal) => {
  await cluster?.stop()
  process.exitCode = signal ? 128 + constants.signals[signal] : code
})
