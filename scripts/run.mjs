// node scripts/run.mjs [options of Node] <file> [args…]: runs the file on the pinned Node, whichever Node started this.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isEnough, NEEDED } from './node-version.mjs'

const scripts = dirname(fileURLToPath(import.meta.url))
const modules = join(dirname(scripts), 'node_modules')
const given = process.argv.slice(2)
const at = given.findIndex((argument) => !argument.startsWith('--'))
if (at < 0) stop('Usage: node scripts/run.mjs [options of Node] <file> [args…]')

const node = findNode()
const lifeline = pathToFileURL(join(scripts, 'lifeline.mjs')).href
const command = ['--disable-warning=ExperimentalWarning', `--import=${lifeline}`, ...given]
// `npm start &` keeps running when its shell exits, because npm does. Without npm, we do not watch a parent.
const underNpm = process.env.npm_lifecycle_event !== undefined

if (process.execve && process.platform !== 'win32') {
  process.execve(node, [node, ...command], withParent(underNpm ? process.ppid : undefined))
} else {
  runAsChild()
}

/**
 * If the process can't be replaced (an older Node started this), it stays as the parent and forwards signals and the
 * exit code.
 */
function runAsChild() {
  const child = spawn(node, command, { stdio: 'inherit', env: withParent(process.pid) })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => stop(`${node} could not be started: ${error.message}.`))
  child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code))
  const { ppid } = process
  if (underNpm) setInterval(() => process.ppid === ppid || process.exit(1), 250).unref()
}

/**
 * Returns the environment, with the parent process that lifeline.mjs watches, if any. Node's compile cache halves the
 * CPU of a start; it is optional. Name look-ups may block threads (server/src/outbound/lookups.ts), so there are more
 * than the default 4.
 */
function withParent(pid) {
  const { HOLDFAST_PARENT_PID: _, ...environment } = process.env
  environment.NODE_COMPILE_CACHE ??= join(modules, '.cache', 'holdfast-node')
  environment.UV_THREADPOOL_SIZE ??= '16'
  return pid === undefined ? environment : { ...environment, HOLDFAST_PARENT_PID: String(pid) }
}

function findNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const { platform, arch } = process
  const packages = [
    `node-${platform === 'win32' ? 'win' : platform}-${arch}`,
    `node-bin-${platform === 'win32' ? 'win' : platform}-${arch}`,
  ]
  const pinned = [
    join(modules, '.bin', name),
    ...packages.flatMap((pkg) => [join(modules, pkg, 'bin', name), join(modules, pkg, name)]),
  ].filter(existsSync)
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))
  const candidates = [...pinned, process.execPath, ...onPath.filter(existsSync)]
  for (const candidate of candidates) if (isEnough(versionOf(candidate))) return candidate
  return stop(
    `Holdfast needs Node ${NEEDED.join('.')} or newer on this platform (${platform}-${arch}), where no npm package brings it; please install it.`,
  )
}

function versionOf(node) {
  if (realpathSync(node) === realpathSync(process.execPath)) return process.version
  const asked = spawnSync(node, ['--version'], { encoding: 'utf8' })
  return asked.status === 0 ? asked.stdout.trim() : 'v0'
}

function stop(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
