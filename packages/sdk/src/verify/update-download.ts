import { createHash } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { ConnectionError, reject } from '../errors.ts'
import { bodyOf, type Send } from '../send.ts'
import type { OfferedUpdate } from './update-verifier.ts'

export type DownloadOptions = {
  signal?: AbortSignal
  /** Called with the received and total bytes. */
  onProgress?: (received: number, size: number) => void
}

/**
 * Downloads a package to `path`, through `<path>.part`, and resumes an earlier attempt. `path` gets only a file with
 * the signed size and SHA-256. Otherwise it throws `VerificationError` `wrong_digest` and deletes the received data.
 * Only one call at a time per path.
 */
export async function downloadPackage(
  send: Send,
  { target, size, sha256 }: Pick<OfferedUpdate, 'target' | 'size' | 'sha256'>,
  path: string,
  { signal, onProgress }: DownloadOptions = {},
): Promise<void> {
  const part = `${path}.part`
  const handle = await open(part, 'a+', 0o600)
  let isWrong = false
  try {
    let { size: there } = await handle.stat()
    if (there < size) {
      const range = { range: `bytes=${there}-`, 'if-range': `"${sha256}"` }
      const reply = await send('updatePackage', { query: { target } }, { signal, ...(there > 0 && { headers: range }) })
      // A proxy may not support ranges; then the whole file comes.
      if (there > 0 && reply.status !== 206) {
        await handle.truncate()
        there = 0
      }
      for await (const chunk of bodyOf(reply)) {
        there += chunk.length
        if (there > size) break
        await handle.appendFile(chunk)
        onProgress?.(there, size)
      }
      if (there < size) throw new ConnectionError(`The download ended after ${there} of ${size} bytes.`)
    }
    await handle.sync()
    isWrong = there !== size || (await sha256Of(handle)) !== sha256
  } finally {
    await handle.close()
  }
  if (isWrong) {
    await rm(part, { force: true })
    reject('wrong_digest', 'the package does not match the signed digest')
  }
  await rename(part, path)
}

/** Hashes the whole file, including data of earlier attempts. */
async function sha256Of(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(chunk)
  return hash.digest('hex')
}
