import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { lchownSync, readFileSync, statSync } from 'node:fs'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

/** Account that runs the PostgreSQL processes. `null`: this process's own user. */
export type OsAccount = { uid: number; gid: number } | null

/**
 * Environment of PostgreSQL. Our own variables are not passed on: PG* variables would change its behaviour, and secrets
 * must not leak.
 */
export const SERVER_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Chooses the account for PostgreSQL. An ordinary user runs it itself. PostgreSQL refuses to run as root, so root uses
 * the owner of `dataDir`; if that is root too, the system's `postgres`, `_postgres` or `nobody` account.
 */
export function chooseAccount(dataDir: string): OsAccount {
  if (process.getuid?.() !== 0) return null
  const owner = statSync(dataDir)
  if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const fields = accounts.find(([login]) => login === name)
    const uid = Number(fields?.[2])
    const gid = Number(fields?.[3])
    if (uid > 0 && gid > 0) return { uid, gid }
  }
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and there is no account named postgres or nobody: start Holdfast as an ordinary user.',
  )
}

/** Returns the owner of an existing file or directory as an account; `null` if it is this process's own user. */
export function accountOwning(path: string): OsAccount {
  if (process.getuid?.() !== 0) return null
  const { uid, gid } = statSync(path)
  return uid === 0 ? null : { uid, gid }
}

export function giveTo(account: OsAccount, path: string): void {
  if (account) lchownSync(path, account.uid, account.gid)
}

/** Runs a short command as the account and waits for it. */
export function runAs(account: OsAccount, file: string, args: string[], cwd = '/'): SpawnSyncReturns<string> {
  return spawnSync(file, args, { ...account, cwd, env: SERVER_ENVIRONMENT, encoding: 'utf8', timeout: 120_000 })
}

/** True if the account can enter the directory. Tries it in a process, so that all rules of the system apply. */
export function canEnter(account: OsAccount, directory: string): boolean {
  return runAs(account, '/bin/sh', ['-c', 'cd -- "$1"', 'probe', directory]).status === 0
}
