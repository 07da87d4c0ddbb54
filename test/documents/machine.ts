import { spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { commandOf, type ToolName, without } from '../../packages/server/test/interop/tools.ts'
import { runCommand } from './run-page.ts'

/**
 * New Debian 13 machines: containers with systemd, and with networks of their own. slirp4netns connects them to the
 * internet as a process, so nothing changes in the network of this machine.
 */

const tools: readonly ToolName[] = ['debootstrap', 'systemd-nspawn', 'slirp4netns', 'ip']
/** A value for `skip` of a test that starts machines. */
export const withoutMachines = (): string | false =>
  process.getuid?.() === 0
    ? (tools.map(without).find((missing) => missing !== false) ?? false)
    : 'only root can start a container with systemd'

/** Few packages, so that a page names each that it needs. */
const packages = ['systemd-sysv', 'dbus', 'openssh-server', 'ca-certificates']
const authorities = '/etc/ssl/certs/ca-certificates.crt'

/** The mirror of this machine, or else Debian's. */
function mirror(): string {
  const format = ['indextargets', '--format', '$(LABEL) $(REPO_URI)', 'Created-By: Packages']
  const { stdout } = spawnSync('apt-get', format, { encoding: 'utf8' })
  return /^Debian (https?:.*)$/m.exec(stdout ?? '')?.[1] ?? 'http://deb.debian.org/debian'
}

/** Returns an archive of a base system. It stays in the folder for temporary files, since it takes minutes to make. */
async function baseSystem(t: TestContext): Promise<string> {
  const archive = join(tmpdir(), 'holdfast-interop-debian-13.tar.gz')
  if (existsSync(archive)) return archive
  const { folder, group } = makeFolder(t, 'debian')
  const root = join(folder, 'root')
  const args = ['--variant=minbase', `--include=${packages.join(',')}`, 'trixie', root, mirror()]
  // It mounts file systems in the folder, and leaves them there if it is interrupted.
  await succeed('sh', inGroup(group, 'unshare', '--mount', commandOf('debootstrap'), ...args))
  await succeed('tar', ['-czf', join(folder, 'archive'), '-C', root, '.'])
  renameSync(join(folder, 'archive'), archive)
  return archive
}

async function succeed(command: string, args: readonly string[]): Promise<void> {
  const { code, output } = await runCommand(command, args, { timeout: 30 * 60_000 })
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${output.slice(-5000)}`)
}

/** Makes a folder, and names a control group. Both end with the test. */
function makeFolder(t: TestContext, name: string): { folder: string; group: string } {
  const folder = mkdtempSync(join(tmpdir(), `holdfast-${name}-`))
  const group = join(cgroups, basename(folder))
  endAfter(t, () => {
    endGroup(group)
    spawnSync('rm', ['-rf', folder])
  })
  return { folder, group }
}

const cgroups = existsSync('/sys/fs/cgroup/cgroup.controllers') ? '/sys/fs/cgroup' : '/sys/fs/cgroup/unified'
/** Arguments for `sh` that run a command in a control group. The end of the group ends all descendants of the command. */
const inGroup = (group: string, ...command: readonly string[]) => [
  '-c',
  'mkdir -p "$1" && echo $$ > "$1/cgroup.procs" && shift && exec "$@"',
  'sh',
  group,
  ...command,
]

/** Starts a command in a control group. Ctrl-C does not reach it. */
function startIn(group: string, log: string, ...command: readonly string[]): void {
  const output = openSync(log, 'a')
  // With the variable, systemd in the container finds the control groups that it needs on older systems too.
  const env = { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' }
  spawn('sh', inGroup(group, ...command), { detached: true, stdio: ['ignore', output, output], env })
  closeSync(output)
}

/** Ends all processes of a control group. It does not wait for events, so that it can run at the exit of this process. */
function endGroup(group: string): void {
  if (existsSync(group)) {
    writeFileSync(join(group, 'cgroup.kill'), '1')
    while (/^populated 1$/m.test(readFileSync(join(group, 'cgroup.events'), 'utf8')))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
  }
  // The container may have made the same folders in other hierarchies.
  const name = group.slice(cgroups.length)
  spawnSync('find', [...'/sys/fs/cgroup -depth -type d -path'.split(' '), `*${name}*`, '-exec', 'rmdir', '{}', '+'])
}

/** Calls `end` once: after the test, or when this process ends or is ended. */
function endAfter(t: TestContext, end: () => void): void {
  const exit = () => process.exit(1)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  process.once('exit', end)
  for (const signal of signals) process.once(signal, exit)
  t.after(() => {
    process.off('exit', end)
    for (const signal of signals) process.off(signal, exit)
    end()
  })
}

export type Machine = {
  /** The folder of its file system. */
  readonly root: string
  /** Process 1 of the machine, as this machine numbers it. */
  readonly pid: string
  /** Runs a script of bash as root. */
  readonly shell: (script: string) => ReturnType<typeof runCommand>
  /** Does so, and returns the output. It throws if the script fails. */
  readonly run: (script: string) => Promise<string>
}
type Files = Readonly<Record<string, string>>

/** Starts a machine with this name, and with these files by their path. It ends with the test. */
async function startMachine(t: TestContext, name: string, files: Files): Promise<Machine> {
  const { folder, group } = makeFolder(t, name)
  const [root, log] = [join(folder, 'root'), join(folder, 'log')]
  mkdirSync(root)
  await succeed('tar', ['-xzf', await baseSystem(t), '-C', root])
  writeFiles(root, { '/etc/hostname': `${name}\n`, ...files })
  // The files are thrown away, so no write waits for the disk.
  const options = '--boot --quiet --register=no --keep-unit --console=pipe --private-network --suppress-sync=yes'
  const keep = '--link-journal=no --resolv-conf=off --timezone=off'
  startIn(group, log, commandOf('systemd-nspawn'), ...`${options} ${keep}`.split(' '), `--directory=${root}`)
  const init = () => readFileSync(join(group, 'payload/init.scope/cgroup.procs'), 'utf8').split('\n')[0] ?? ''
  await until(log, () => init() !== '')
  const pid = init()
  const network = ['--configure', '--disable-host-loopback', pid, 'tap0']
  startIn(join(group, 'network'), log, commandOf('slirp4netns'), ...network)
  await until(log, () => ip(pid, 'address', 'show', 'tap0').includes('inet '))
  const machine = shellsOf(name, pid)
  await machine.run(`until systemctl is-system-running | grep -Eq 'running|degraded'; do sleep 0.2; done
update-ca-certificates`)
  return { root, pid, ...machine }
}

function shellsOf(name: string, pid: string): Pick<Machine, 'shell' | 'run'> {
  const enter = ['-t', pid, ...'-m -u -i -n -p -C -r -w env -i'.split(' ')]
  const shell: Machine['shell'] = (script) =>
    runCommand('nsenter', [...enter, ...environment(), 'bash', '-c', script], { timeout: 45 * 60_000 })
  const run: Machine['run'] = async (script) => {
    const { code, output } = await shell(`set -euo pipefail\n${script}`)
    if (code !== 0) throw new Error(`${name}: exit code ${code} of the script\n${script}\n${output}`)
    return output
  }
  return { shell, run }
}

/** Variables of root's shell: those of a login, and those by which programs of this machine reach the registry. */
function environment(): string[] {
  const login = { HOME: '/root', LANG: 'C.UTF-8', PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }
  const shared = ['http_proxy', 'https_proxy', 'no_proxy', 'npm_config_registry']
  const passed = shared.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  const all = { ...login, NODE_EXTRA_CA_CERTS: authorities, ...Object.fromEntries(passed) }
  return Object.entries(all).map(([name, value]) => `${name}=${value}`)
}

function writeFiles(root: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
}

/** Waits up to five minutes. While something is not there yet, `isTrue` may throw. */
async function until(log: string, isTrue: () => boolean): Promise<void> {
  const giveUp = performance.now() + 300_000
  for (;;) {
    try {
      if (isTrue()) return
    } catch {}
    if (performance.now() > giveUp) throw new Error(`a container does not start:\n${readFileSync(log, 'utf8')}`)
    await delay(200)
  }
}

/** Runs `ip` in the network of a process. */
function ip(pid: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('nsenter', ['-t', pid, '-n', commandOf('ip'), ...args], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`)
  return stdout
}

/** Starts two machines, `replica-1` at 10.0.0.11 and `replica-2` at 10.0.0.12. */
export async function startMachines(t: TestContext, files: Files): Promise<[Machine, Machine]> {
  const names = { '127.0.0.1': 'localhost vpn.example.com', '10.0.0.11': 'replica-1', '10.0.0.12': 'replica-2' }
  const all = {
    '/etc/hosts': Object.entries(names)
      .map((line) => `${line.join(' ')}\n`)
      .join(''),
    // slirp4netns passes queries on to the resolver of this machine.
    '/etc/resolv.conf': 'nameserver 10.0.2.3\n',
    // Services get the variable that the shells have.
    '/etc/systemd/system.conf.d/authorities.conf': `[Manager]\nDefaultEnvironment=NODE_EXTRA_CA_CERTS=${authorities}\n`,
    // A proxy before the registry may have an authority of its own, which this machine trusts.
    ...(existsSync(authorities) && {
      '/usr/local/share/ca-certificates/others.crt': readFileSync(authorities, 'utf8'),
    }),
    ...files,
  }
  const first = await startMachine(t, 'replica-1', all)
  const second = await startMachine(t, 'replica-2', all)
  ip(first.pid, ...`link add name host0 type veth peer name host0 netns ${second.pid}`.split(' '))
  for (const [machine, address] of [
    [first, '10.0.0.11/24'],
    [second, '10.0.0.12/24'],
  ] as const) {
    ip(machine.pid, 'address', 'add', address, 'dev', 'host0')
    ip(machine.pid, 'link', 'set', 'host0', 'up')
  }
  await first.run(`ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys
echo "replica-1,replica-2 $(cat /etc/ssh/ssh_host_ed25519_key.pub)" > /root/.ssh/known_hosts`)
  // Both have the host key of the base system.
  cpSync(join(first.root, 'root/.ssh'), join(second.root, 'root/.ssh'), { recursive: true })
  return [first, second]
}
