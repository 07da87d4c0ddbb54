import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, fail } from '../../../kernel/app-error.ts'
import { newUuid } from '../../../kernel/ids.ts'
import { hour } from '../../../kernel/time.ts'

export type Received = { file: string; size: number; sha256: string }

/** A file without writes for this time is abandoned, because its process ended. */
const abandonedMs = hour

/** Folder of incoming uploads, under random names until their content is known. */
export function createIncoming(dir: string) {
  const folder = join(dir, 'incoming')

  /** Writes a stream to a file, and counts and hashes it. If it breaks off or is too long, the file is removed. */
  async function receive(bytes: AsyncIterable<Uint8Array>, most: number): Promise<Received> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = join(folder, newUuid())
    const handle = await open(file, 'wx', 0o600)
    const hash = createHash('sha256')
    let size = 0
    try {
      for await (const chunk of bytes) {
        size += chunk.length
        if (size > most) fail('bad_request', `the package is larger than ${most} bytes, the maximum of a package`)
        hash.update(chunk)
        await handle.writeFile(chunk)
      }
      if (size === 0) fail('bad_request', 'the body is empty')
      await handle.sync()
    } catch (e) {
      await handle.close()
      await discard(file)
      throw isFull(e) ? noRoom(e) : e
    }
    await handle.close()
    return { file, size, sha256: hash.digest('hex') }
  }

  const discard = (file: string) => rm(file, { force: true })

  /** Removes files of processes that ended during an upload. */
  async function sweep(): Promise<number> {
    const names = await readdir(folder).catch((e) => (e.code === 'ENOENT' ? [] : Promise.reject(e)))
    let removed = 0
    for (const name of names) {
      const file = join(folder, name)
      const found = await stat(file).catch(() => undefined)
      if (!found || Date.now() - found.mtimeMs < abandonedMs) continue
      await discard(file)
      removed++
    }
    return removed
  }

  return { receive, discard, sweep }
}
export type IncomingPackages = ReturnType<typeof createIncoming>

const isFull = (e: unknown) => ['ENOSPC', 'EDQUOT'].includes(String((e as NodeJS.ErrnoException).code))
const noRoom = (cause: unknown) =>
  new AppError('internal_error', 'the package storage is full; nothing was changed', { cause })
