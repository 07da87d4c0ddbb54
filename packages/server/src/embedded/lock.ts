import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, giveTo } from './account.ts'

interface Lock {
  release(): void
}

/**
 * Takes the one lock of a directory, or tells who has it. The lock is a kernel file lock (Node offers none by itself,
 * SQLite does), so it ends with its process however that dies and is never stale.
 *
 * @param owner whom the lock's files are given to
 * @param waitMs how long an owner that is just ending is given
 * @returns the lock, or the process id of its owner (`null` when that is not readable)
 */
export async function takeLock(
  directory: string,
  owner: Account,
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

function openPrivate(file: string, owner: Account, flags = 0): number {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | flags, 0o600)
  giveTo(owner, file)
  return descriptor
}

function tryLock(file: string, owner: Account): DatabaseSync | null {
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
