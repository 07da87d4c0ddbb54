import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Debian allows only one of rsyslog and syslog-ng to be installed, so this one is unpacked outside of the tree. */
const folder = process.env.SYSLOG_NG_HOME ?? join(tmpdir(), 'holdfast-interop-syslog-ng')
const packages = ['syslog-ng-core', 'libivykis0', 'libnet1', 'libpcre3', 'libwrap0']

/** The program, its modules, and the folder of its libraries. */
export const syslogNg = {
  command: join(folder, 'usr/sbin/syslog-ng'),
  get modules() {
    return globSync(join(folder, 'usr/lib/syslog-ng/*.*')).find((path) => !path.endsWith('.so')) ?? ''
  },
  get libraries() {
    const parts = ['lib/*-linux-gnu*', 'usr/lib/*-linux-gnu*', 'usr/lib/syslog-ng']
    return parts.flatMap((part) => globSync(join(folder, part))).join(':')
  },
}

/** Throws if Debian's archive can't be reached. */
export function fetchSyslogNg(): void {
  if (existsSync(syslogNg.command)) return
  const archives = join(folder, 'archives')
  mkdirSync(archives, { recursive: true })
  const run = (command: string, args: readonly string[]) => {
    const { status, stderr } = spawnSync(command, args, { cwd: archives, encoding: 'utf8' })
    if (status !== 0)
      throw new Error(`syslog-ng could not be fetched (apt-get download ${packages.join(' ')}):\n${stderr}`)
  }
  run('apt-get', ['-q', 'download', ...packages])
  for (const archive of globSync('*.deb', { cwd: archives })) run('dpkg-deb', ['-x', archive, folder])
}
