import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type OsAccount, runAs } from './account.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

const ASK_AFTER_MS = 3_000
const INSIST_AFTER_MS = 12_000
const GIVE_UP_AFTER_MS = 20_000

/**
 * Waits until no PostgreSQL of an earlier run uses the cluster. The caller must hold the data directory's lock. A
 * living postmaster then is a leftover: it is stopping by itself, or its supervisor was killed, and it gets a signal to
 * stop.
 */
export async function awaitOldPostmaster(account: OsAccount, cluster: string): Promise<void> {
  const started = performance.now()
  let asked = 0
  for (let pid = findPostmaster(cluster); pid !== null; pid = findPostmaster(cluster)) {
    const waited = performance.now() - started
    if (waited > GIVE_UP_AFTER_MS) {
      throw new EmbeddedPostgresError(
        `A PostgreSQL process of an earlier run (pid ${pid}) holds ${cluster} and does not stop.`,
      )
    }
    if (asked === 0 && waited > ASK_AFTER_MS) {
      signal(account, pid, 'INT')
      asked = 1
    } else if (asked === 1 && waited > INSIST_AFTER_MS) {
      signal(account, pid, 'QUIT')
      asked = 2
    }
    await sleep(50)
  }
}

/**
 * Returns the process id of the postmaster on the cluster, `null` if there is none. Removes a pid file that names
 * another process (reused ids are usual after a container's restart), because PostgreSQL would take it for a postmaster
 * and refuse to start.
 */
export function findPostmaster(cluster: string): number | null {
  const file = join(cluster, 'postmaster.pid')
  let pid: number
  try {
    pid = Number.parseInt(readFileSync(file, 'utf8'), 10)
  } catch {
    return null
  }
  if (!(pid > 0) || !isAlive(pid)) return null
  const command = commandOf(pid)
  if (command === null || (command.includes('postgres') && command.includes(cluster))) return pid
  rmSync(file, { force: true })
  return null
}

/** Signals a process that may have ended meanwhile, with the rights of the account. */
export function signal(account: OsAccount, pid: number, name: 'INT' | 'QUIT'): void {
  runAs(account, '/bin/sh', ['-c', 'kill -"$1" "$2"', 'signal', name, String(pid)])
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Returns `null` if unknown, and an empty text for a zombie process. */
function commandOf(pid: number): string | null {
  if (process.platform === 'linux') {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    } catch {
      return null
    }
  }
  const listed = runAs(null, 'ps', ['-o', 'command=', '-ww', '-p', String(pid)])
  return listed.status === 0 ? listed.stdout : null
}
