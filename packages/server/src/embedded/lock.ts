import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { giveTo, type OsAccount } from './account.ts'

interface Lock {
  release(): void
}

/**
 * Takes the exclusive lock of a directory, or returns its owner. It is a kernel file lock (by SQLite, since Node has
 * none), so it ends with its process in every case and is never stale.
 *
 * @param owner account that gets the lock's files
 * @param waitMs time in ms to wait for an owner that is just ending
 * @returns the lock, or the process id of its owner (`null` if unreadable)
 */
export async function takeLock(
  directory: string,
  owner: OsAccount,
  waitMs: number,
): Promise<Lock | { ownerPid: number | null }> {
  const pidFile = join(directory, 'holdfast.pid')
  const deadline = performance.now() + waitMs
  for (;;) {
    const database = tryLock(join(directory, 'holdfast.lock'), owner)
    if (database) {
      const descriptor = openPrivate(pidFile, owner, constants.O_TRUNC)
      writeFileSync(descriptor, `${process.pid}\n`)
      closeSync(descriptor)
      return { release: () => database.close() }
    }
    if (performance.now() >= deadline) return { ownerPid: readPid(pidFile) }
    await sleep(100)
  }
}

function openPrivate(file: string, owner: OsAccount, flags = 0): number {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | flags, 0o600)
  giveTo(owner, file)
  return descriptor
}

function tryLock(file: string, owner: OsAccount): DatabaseSync | null {
  closeSync(openPrivate(file, owner))
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database.close()
    const SQLITE_BUSY = 5
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return null
    throw error
  }
}

function readPid(file: string): number | null {
  try {
    return Number(readFileSync(file, 'utf8')) || null
  } catch {
    return null
  }
}
