import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { ConnectionError, reject } from './errors.ts'
import { bodyOf, type Send } from './send.ts'
import type { OfferedUpdate } from './update-verifier.ts'

export type DownloadOptions = {
  signal?: AbortSignal
  /** Called with how much is there of how much. */
  onProgress?: (received: number, size: number) => void
}

/**
 * Downloads a package to `path`, through `<path>.part`: what is there of an earlier attempt is gone on with. At `path`
 * stands what has the signed size and SHA-256, or nothing new. Throws `VerificationError` `wrong_digest` where it has
 * not; what was received is then thrown away.
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
    const hash = createHash('sha256')
    let there = await hashed(handle, hash)
    if (there < size) {
      const range = { range: `bytes=${there}-`, 'if-range': `"${sha256}"` }
      const reply = await send('updatePackage', { query: { target } }, { signal, ...(there > 0 && { headers: range }) })
      if (there > 0 && reply.status !== 206)
        throw new ConnectionError('The server did not send the part that was asked.')
      for await (const chunk of bodyOf(reply)) {
        there += chunk.length
        if (there > size) break
        hash.update(chunk)
        await handle.write(chunk)
        onProgress?.(there, size)
      }
      if (there < size) throw new ConnectionError(`The download ended after ${there} of ${size} bytes.`)
    }
    await handle.sync()
    isWrong = there !== size || hash.digest('hex') !== sha256
  } finally {
    await handle.close()
  }
  if (isWrong) {
    await rm(part, { force: true })
    reject('wrong_digest', 'the package is not what was signed')
  }
  await rename(part, path)
}

/** How much is there, and its hash so far. */
async function hashed(handle: FileHandle, hash: Hash): Promise<number> {
  let there = 0
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) {
    hash.update(chunk)
    there += chunk.length
  }
  return there
}
