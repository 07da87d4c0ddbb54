import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, ftruncateSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { giveTo, SERVER_ENVIRONMENT } from './account.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import type { Home } from './home.ts'
import { findPostmaster, signal } from './postmaster.ts'

/**
 * Runs PostgreSQL and watches descriptor 3, a pipe whose other end only Holdfast has. The pipe closes when Holdfast
 * closes it or ends in any way; then PostgreSQL gets a fast shutdown. The signal is repeated, since one that arrives
 * before PostgreSQL has installed its handlers would be lost. $1: a directory to remove at the end, or empty.
 */
const SUPERVISE = `
remove=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
(read -r line <&3; while kill -INT $server; do sleep 1; done) 2>/dev/null &
watcher=$!
exec 3<&-
wait $server; status=$?
kill $watcher 2>/dev/null
[ -z "$remove" ] || rm -rf "$remove"
exit $status
`

const LARGEST_LOG_BYTES = 4 * 1024 * 1024
const STOP_TIMEOUT_MS = 30_000

/** One running PostgreSQL. It does not keep this process alive. */
export interface Server {
  /** Settles when it has ended, with its last error message. */
  ended: Promise<string>
  hasEnded(): boolean
  /** Fast shutdown, then an immediate one after 30 s. */
  stop(): Promise<void>
}

/** Starts `postgres` as the home's account in its own session, so that signals to our process group do not reach it. */
export function launchServer(home: Home, cluster: string, command: string[], removeAtEnd: string): Server {
  const logFile = join(home.path, 'postgres.log')
  const output = openSync(logFile, 'a', 0o600)
  if (statSync(logFile).size > LARGEST_LOG_BYTES) ftruncateSync(output)
  giveTo(home.owner, logFile)
  const offset = statSync(logFile).size
  const child = spawn('/bin/sh', ['-c', SUPERVISE, 'holdfast-postgres', removeAtEnd, ...command], {
    ...home.account,
    cwd: '/',
    env: SERVER_ENVIRONMENT,
    detached: true,
    stdio: ['pipe', output, output],
  })
  closeSync(output)
  release(child)

  let over = false
  const ended = new Promise<string>((resolve) => {
    const finish = (fallback: string) => {
      over = true
      child.stdin?.destroy()
      resolve(lastWords(logFile, offset) ?? fallback)
    }
    child.once('error', (error) => finish(error.message))
    child.once('exit', (code, by) => finish(`it ended with ${by ?? code}`))
  })
  return {
    ended,
    hasEnded: () => over,
    async stop() {
      if (over) return
      child.ref()
      child.stdin?.destroy()
      const late = new AbortController()
      const insist = sleep(STOP_TIMEOUT_MS, 'late', { signal: late.signal }).catch(() => 'ended')
      if ((await Promise.race([ended, insist])) === 'late') {
        const pid = findPostmaster(cluster)
        if (pid !== null) signal(home.account, pid, 'QUIT')
      }
      late.abort()
      await ended
    },
  }
}

function release(child: ChildProcess): void {
  child.unref()
  child.stdin?.on('error', () => {})
  if (child.stdin && 'unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
}

/** Returns the last FATAL, PANIC or ERROR line since `offset`, otherwise the last line. */
function lastWords(logFile: string, offset: number): string | null {
  try {
    const lines = readFileSync(logFile).subarray(offset).toString('utf8').trim().split('\n')
    const line = lines.findLast((text) => /(FATAL|PANIC|ERROR): /.test(text)) ?? lines.at(-1)
    return line?.replace(/^.*?(FATAL|PANIC|ERROR|LOG): +/, '').trim() || null
  } catch {
    return null
  }
}

/** Explains a failed start. The spawn itself fails if the process may not change to the account or the home is gone. */
export function toStartError(home: Home, reason: string): EmbeddedPostgresError {
  const sentence = reason.replace(/\.$/, '')
  return new EmbeddedPostgresError(
    `PostgreSQL could not be started in ${home.path}: ${sentence} (details in postgres.log there).`,
  )
}
