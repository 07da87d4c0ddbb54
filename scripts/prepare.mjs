// Runs before `npm start`, `npm test` and the like, on any Node >= 20: installs the packages of package-lock.json
// unless they are there. With `--product`, the packages for development may be missing: those of tests, checks and
// benchmarks are a third of the whole. Silent and instant when nothing has changed.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const lockFile = join(root, '.install.lock')
const stampFile = join(root, 'node_modules', '.holdfast-install')
/** npm's own record of the packages that are installed. */
const recordFile = join(root, 'node_modules', '.package-lock.json')
/** The lockfile with the address of each package. It exists only while npm installs. */
const placesFile = join(root, 'npm-shrinkwrap.json')
const isForProduct = process.argv[2] === '--product'
const none = {}
/** The npm that runs. */
let running
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal))

main().catch((error) => fail(`Dependencies could not be installed: ${error.message}.`))

async function main() {
  if (Number(process.versions.node.split('.')[0]) < 20) {
    fail(`Holdfast needs Node 20 or newer to start; this is ${process.version}.`)
  }
  if (isInstalled()) return
  await takeLock()
  try {
    if (!isInstalled()) await install()
  } finally {
    rmSync(lockFile, { force: true })
  }
}

function fingerprint() {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  return hash.update(`${process.platform} ${process.arch}`).digest('hex')
}

function isInstalled() {
  const extent = installedExtent()
  return extent === 'all' || (extent === 'product' && isForProduct)
}

/**
 * The part of the lockfile that is installed: `all`, `product` (without the packages for development), or undefined. A
 * stamp counts until npm writes its record again.
 */
function installedExtent() {
  const current = fingerprint()
  try {
    const [stamped, extent = 'all'] = readFileSync(stampFile, 'utf8').split(' ')
    if (statSync(stampFile).mtimeMs >= statSync(recordFile).mtimeMs) return stamped === current ? extent : undefined
  } catch {
    // There is no stamp, as after an installation by hand.
  }
  const extent = recordedExtent()
  if (extent) stamp(extent)
  return extent
}

/** The same by npm's record, which is there after an installation by hand, too. */
function recordedExtent() {
  const installed = recordedPackages()
  const listed = listedPackages()
  const same = (path) => installed[path]?.version === listed[path]?.version
  if (installed === none || !Object.keys(installed).every((path) => path in listed && same(path))) return undefined
  const needed = Object.keys(listed).filter((path) => path.includes('node_modules/') && !listed[path].optional)
  if (needed.every(same)) return 'all'
  return needed.filter((path) => !listed[path].dev && !listed[path].devOptional).every(same) ? 'product' : undefined
}

function recordedPackages() {
  return existsSync(recordFile) ? JSON.parse(readFileSync(recordFile, 'utf8')).packages : none
}

function listedPackages() {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
}

/** @param {'all' | 'product'} extent */
function stamp(extent) {
  try {
    writeFileSync(stampFile, extent === 'all' ? fingerprint() : `${fingerprint()} ${extent}`)
  } catch {
    // A read-only tree is fully checked each time.
  }
}

async function install() {
  if (installedExtent() === 'product') return await complete()
  process.stderr.write('Installing dependencies (first run)…\n')
  // A tree that has the packages for development keeps them.
  const isForAll = !isForProduct || Object.values(recordedPackages()).some(({ dev }) => dev)
  await npm('ci', isForAll ? '--include=dev' : '--omit=dev')
  stamp(isForAll ? 'all' : 'product')
  leaveToOwner()
}

/**
 * Adds the packages for development. A server may run from the others, which `npm ci` would begin to remove. Folders of
 * an earlier attempt that was cut short would pass for complete packages. `--no-save` keeps package-lock.json as it is.
 */
async function complete() {
  process.stderr.write('Installing the dependencies for development…\n')
  const installed = recordedPackages()
  // Only packages of others: a workspace is source code.
  for (const [path, { dev }] of Object.entries(listedPackages()))
    if (dev && path.includes('node_modules/') && !(path in installed))
      rmSync(join(root, path), { recursive: true, force: true })
  await npm('install', '--no-save', '--include=dev')
  if (recordedExtent() !== 'all')
    fail(
      'Dependencies could not be installed: package.json and package-lock.json do not agree; please run npm install.',
    )
  stamp('all')
  leaveToOwner()
}

async function npm(...command) {
  const all = [...command, '--include=optional', '--no-audit', '--no-fund']
  let result = await runNpmWithPlaces(all)
  // A registry may keep its packages at other addresses.
  if (result.status !== 0) result = await runNpm(all)
  if (result.status === 0) return
  process.stderr.write(result.output)
  fail('Dependencies could not be installed: npm failed, see above.')
}

/**
 * Runs npm with the address of each package. The lockfile names none, so npm would first ask the registry about each
 * package, also about those in its cache: that is a quarter of the time of a first start. The addresses are in a copy
 * of the lockfile, which npm prefers while it is there.
 */
async function runNpmWithPlaces(args) {
  const { output } = await runNpm(['config', 'get', 'registry'])
  try {
    writePlaces(output.trim().replace(/\/?$/, '/'))
    // Without a connection the second attempt fails as well, so the first one does not wait long.
    return await runNpm([...args, '--fetch-retries=1'])
  } finally {
    rmSync(placesFile, { force: true })
  }
}

/** @param {string} registry its URL, with a slash at the end */
function writePlaces(registry) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!path.includes('node_modules/') || entry.link || entry.resolved || !entry.integrity) continue
    const name = entry.name ?? path.split('node_modules/').at(-1)
    entry.resolved = `${registry}${name}/-/${name.split('/').at(-1)}-${entry.version}.tgz`
  }
  writeFileSync(placesFile, JSON.stringify(lock))
}

function runNpm(args) {
  const cli = process.env.npm_execpath
  const known = cli && basename(cli) === 'npm-cli.js'
  const command = known ? process.env.npm_node_execpath || process.execPath : 'npm'
  const options = { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], shell: !known && process.platform === 'win32' }
  const quiet = ['--no-progress', '--loglevel=error']
  const child = spawn(command, [...(known ? [cli] : []), ...args, ...quiet], options)
  running = child
  return new Promise((resolve, reject) => {
    let output = ''
    const collect = (chunk) => {
      output += chunk
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, output }))
  })
}

/**
 * Packages that root installed in another user's folder are given to that user, whose own next install would fail
 * otherwise.
 */
function leaveToOwner() {
  const { uid, gid } = statSync(root)
  if (process.getuid?.() === 0 && uid !== 0) {
    spawnSync('chown', ['-R', '-h', `${uid}:${gid}`, join(root, 'node_modules')])
  }
}

async function takeLock() {
  for (;;) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: 'wx' })
      return
    } catch (error) {
      if (error.code !== 'EEXIST') {
        fail(`Dependencies could not be installed: ${root} is not writable for this user (${error.code}).`)
      }
    }
    removeStaleLock()
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
}

/** Moves the lock away before checking it again, so that a new lock of another process is not removed. */
function removeStaleLock() {
  const aside = `${lockFile}.${process.pid}`
  try {
    if (!isStale(lockFile)) return
    renameSync(lockFile, aside)
    if (!isStale(aside)) linkSync(aside, lockFile)
  } catch {
    // Another process removed it first.
  } finally {
    rmSync(aside, { force: true })
  }
}

function isStale(file) {
  const pid = Number(readFileSync(file, 'utf8'))
  if (!pid) return Date.now() - statSync(file).mtimeMs > 5_000
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`)
  rmSync(`${lockFile}.${process.pid}`, { force: true })
  if (ownsLock()) rmSync(lockFile, { force: true })
  process.exit(1)
}

/** The next run installs everything again. */
function stop(signal) {
  running?.kill(signal)
  if (ownsLock()) for (const file of [placesFile, lockFile]) rmSync(file, { force: true })
  process.exit(128 + constants.signals[signal])
}

function ownsLock() {
  try {
    return readFileSync(lockFile, 'utf8') === String(process.pid)
  } catch {
    return false
  }
}
