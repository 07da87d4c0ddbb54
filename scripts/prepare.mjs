// Runs before `npm start`, `npm test` and the like, on any Node >= 20: installs the packages of package-lock.json
// unless they are already installed. Silent and fast if nothing has changed.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const lockFile = join(root, '.install.lock')
const stampFile = join(root, 'node_modules', '.holdfast-install')

main().catch((error) => fail(`Dependencies could not be installed: ${error.message}.`))

async function main() {
  if (Number(process.versions.node.split('.')[0]) < 20) {
    fail(`Holdfast needs Node 20 or newer to start; this is ${process.version}.`)
  }
  const wanted = fingerprint()
  if (isInstalled(wanted)) return
  await takeLock()
  try {
    if (!isInstalled(wanted)) await install(wanted)
  } finally {
    rmSync(lockFile, { force: true })
  }
}

function fingerprint() {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  return hash.update(`${process.platform} ${process.arch}`).digest('hex')
}

function isInstalled(wanted) {
  try {
    return readFileSync(stampFile, 'utf8') === wanted
  } catch {
    if (!isInstalledByHand()) return false
    stamp(wanted)
    return true
  }
}

/** A tree installed by npm itself counts as installed if npm's own record of it matches the lockfile. */
function isInstalledByHand() {
  const record = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(record)) return false
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages
  const listed = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const same = (path) => installed[path]?.version === listed[path]?.version
  const needed = Object.keys(listed).filter((path) => path.includes('node_modules/') && !listed[path].optional)
  return Object.keys(installed).every((path) => path in listed && same(path)) && needed.every(same)
}

function stamp(wanted) {
  try {
    writeFileSync(stampFile, wanted)
  } catch {
    // A read-only tree is fully checked each time.
  }
}

async function install(wanted) {
  process.stderr.write('Installing dependencies (first run)…\n')
  const options = ['--include=dev', '--include=optional', '--no-audit', '--no-fund']
  const result = await runNpm(['ci', ...options])
  if (result.status !== 0) {
    process.stderr.write(result.output)
    fail('Dependencies could not be installed: npm failed, see above.')
  }
  stamp(wanted)
  leaveToOwner()
}

function runNpm(args) {
  const cli = process.env.npm_execpath
  const known = cli && basename(cli) === 'npm-cli.js'
  const command = known ? process.env.npm_node_execpath || process.execPath : 'npm'
  const options = { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], shell: !known && process.platform === 'win32' }
  const quiet = ['--no-progress', '--loglevel=error']
  const child = spawn(command, [...(known ? [cli] : []), ...args, ...quiet], options)
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

function ownsLock() {
  try {
    return readFileSync(lockFile, 'utf8') === String(process.pid)
  } catch {
    return false
  }
}
