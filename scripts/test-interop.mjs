// node scripts/run.mjs scripts/test-interop.mjs: checks signed and issued data with programs of other vendors. Installs
// missing Debian packages if it may. A skipped test counts as failed.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { fetchSyslogNg } from '../packages/server/test/interop/syslog-ng.ts'
import { fetchKeycloak, keycloakHome, missingPackages } from '../packages/server/test/interop/tools.ts'
import { startTestCluster } from '../packages/server/test/support/database/test-database.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

installMissing()
installSchemathesis()
installPython(
  'SCIM_TESTER_PYTHON',
  'scim2-tester==0.5.2',
  'scim2-client==0.13.2',
  'scim2-models==0.12.3',
  'httpx2==2.16.2',
)
installPython('JOSERFC_PYTHON', 'joserfc==1.8.0')
await installKeycloak()
installSyslogNg()
process.exitCode = (await runTests()) ? 0 : 1

function installMissing() {
  const missing = missingPackages()
  if (missing.length === 0) return
  const sentence = `The interop tests need these Debian packages: ${missing.join(' ')}.`
  if (process.getuid?.() !== 0) stop(`${sentence} Please install them (apt-get install ${missing.join(' ')}).`)
  if (spawnSync('apt-get', ['--version']).error) stop(`${sentence} There is no apt-get here to install them with.`)
  process.stderr.write(`Installing ${missing.join(' ')}…\n`)
  // One broken source fails the update, though it may not be needed.
  apt('update')
  const installed = apt('install', '-y', '--no-install-recommends', ...missing)
  if (installed.status !== 0)
    stop(`${installed.stdout}${installed.stderr}The packages could not be installed, see above.`)
  const still = missingPackages()
  if (still.length > 0) stop(`Installed, but their programs do not run: ${still.join(' ')}.`)
}

/** Installs Schemathesis from PyPI into its own environment. */
function installSchemathesis() {
  process.env.SCHEMATHESIS_SECONDS ??= '60'
  if (!spawnSync('st', ['--version']).error) return
  const directory = join(tmpdir(), 'holdfast-schemathesis-4.32.5')
  // Last in the path, since its python3 has none of Debian's modules.
  process.env.PATH = `${process.env.PATH}:${join(directory, 'bin')}`
  if (existsSync(join(directory, 'bin/st'))) return
  process.stderr.write('Installing schemathesis…\n')
  spawnSync('python3', ['-m', 'venv', directory], { stdio: 'inherit' })
  const pip = spawnSync(join(directory, 'bin/pip'), ['install', '-q', 'schemathesis==4.32.5'], { stdio: 'inherit' })
  if (pip.status !== 0) stop('Schemathesis could not be installed: pip install schemathesis')
}

/** Installs PyPI packages into their own environment, and sets a variable to its Python. */
function installPython(variable, ...packages) {
  const [name] = packages
  const directory = join(tmpdir(), `holdfast-${name.replace('==', '-')}`)
  const python = process.env[variable] ?? join(directory, 'bin/python')
  process.env[variable] = python
  if (existsSync(python)) return
  process.stderr.write(`Installing ${name}…\n`)
  spawnSync('python3', ['-m', 'venv', directory], { stdio: 'inherit' })
  const pip = spawnSync(join(directory, 'bin/pip'), ['install', '-q', ...packages], { stdio: 'inherit' })
  if (pip.status !== 0) stop(`${name} could not be installed: pip install ${packages.join(' ')}`)
}

/** Downloads Keycloak from Maven's central repository (200 MB), unless KEYCLOAK_HOME is set. */
async function installKeycloak() {
  if (keycloakHome()) return
  if (process.env.KEYCLOAK_HOME) stop('There is no bin/kc.sh in KEYCLOAK_HOME.')
  process.stderr.write('Fetching Keycloak…\n')
  await fetchKeycloak().catch((e) => stop(e.message))
}

/** Unpacks Debian's package beside rsyslog, since the two can't be installed together. */
function installSyslogNg() {
  try {
    fetchSyslogNg()
  } catch (e) {
    stop(e.message)
  }
}

function apt(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync('apt-get', ['-q', ...args], { env, encoding: 'utf8' })
}

/** True if every test ran and passed. */
async function runTests() {
  const cluster = process.env.HOLDFAST_TEST_DATABASE_URL ? undefined : await startTestCluster()
  if (cluster) process.env.HOLDFAST_TEST_DATABASE_URL = cluster.url
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stopping.abort())
  let passed = 0
  let failed = 0
  const skipped = []
  try {
    const files = globSync(['packages/*/test/interop/**/*.test.ts', 'test/documents/*.slow.test.ts'], {
      cwd: root,
    }).sort()
    const tests = run({ files, cwd: root, concurrency: true, signal: stopping.signal })
    tests.on('test:fail', () => failed++)
    tests.on('test:pass', (test) => (test.skip === undefined ? passed++ : skipped.push(test.name)))
    await pipeline(tests, new spec(), process.stdout, { end: false })
  } finally {
    await cluster?.stop()
  }
  for (const name of skipped) process.stderr.write(`Skipped, which counts as failed here: ${name}\n`)
  return failed === 0 && skipped.length === 0 && passed > 0 && !stopping.signal.aborted
}

function stop(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
