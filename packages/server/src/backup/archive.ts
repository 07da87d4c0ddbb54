import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { createGunzip, createGzip } from 'node:zlib'
import { Decrypter, Encrypter } from 'age-encryption'
import { createTarDecoder, createTarPacker } from 'modern-tar'
import { BackupError } from './backup-error.ts'

/** A file in the archive, held in memory as a whole. */
export type ArchiveEntry = { name: string; bytes: Uint8Array }
export type Written = { bytes: number; sha256: string }

/** Size limit of an entry. The largest row that the API accepts fits. */
const largestEntry = 256 * 1024 * 1024

/**
 * Writes entries as they arrive into a tar archive, compressed by gzip and encrypted in the format of age
 * (https://age-encryption.org/v1) for the recipients. `age -d | tar xz` reads it too. Holds a few megabytes in memory
 * at a time. The file is synced to disk on return.
 */
export async function writeArchive(
  file: FileHandle,
  recipients: readonly string[],
  entries: AsyncIterable<ArchiveEntry>,
): Promise<Written> {
  const { readable, controller } = createTarPacker()
  const produce = async (): Promise<void> => {
    try {
      for await (const { name, bytes } of entries) {
        if (bytes.length > largestEntry)
          throw new BackupError(`${name} in the backup is larger than a restore accepts.`)
        const writer = controller.add({ name, size: bytes.length, mode: 0o600, mtime: new Date(0) }).getWriter()
        await writer.write(bytes)
        await writer.close()
      }
      controller.finalize()
    } catch (e) {
      controller.error(e)
      throw e
    }
  }
  const hash = createHash('sha256')
  let bytes = 0
  const consume = async (): Promise<void> => {
    const packed = createGzip()
    // An error of one of these streams fails the stream that is read below.
    pipeline(Readable.fromWeb(readable as WebStream), packed).catch(() => {})
    const sealed = await encrypterFor(recipients).encrypt(Readable.toWeb(packed) as ReadableStream<Uint8Array>)
    for await (const chunk of Readable.fromWeb(sealed as WebStream) as AsyncIterable<Uint8Array>) {
      hash.update(chunk)
      bytes += chunk.length
      await file.writeFile(chunk)
    }
    await file.sync()
  }
  const consumed = consume().catch((e: unknown) => {
    controller.error(e)
    throw e
  })
  // An error on one side fails the other one. After both have ended, nothing more is written.
  for (const ended of await Promise.allSettled([produce(), consumed]))
    if (ended.status === 'rejected') throw ended.reason
  return { bytes, sha256: hash.digest('hex') }
}

/**
 * Yields the entries of an archive in their order, up to the first mismatch with the written data. Throws on any fault.
 */
export async function* readArchive(file: string, identities: readonly string[]): AsyncGenerator<ArchiveEntry> {
  const bytes = createReadStream(file)
  try {
    const opened = await decrypterFor(identities).decrypt(Readable.toWeb(bytes) as ReadableStream<Uint8Array>)
    const unpacked = createGunzip()
    pipeline(Readable.fromWeb(opened as WebStream), unpacked).catch(() => {})
    const tar = Readable.toWeb(unpacked) as ReadableStream<Uint8Array<ArrayBuffer>>
    for await (const { header, body } of tar.pipeThrough(createTarDecoder({ strict: true })) as AsyncIterable<{
      header: { name: string; size: number }
      body: WebStream
    }>) {
      if (header.size > largestEntry) throw new BackupError('The backup is damaged: a part is larger than the maximum.')
      yield { name: header.name, bytes: await buffer(body) }
    }
  } catch (e) {
    if (e instanceof BackupError) throw e
    const { code, message } = e as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new BackupError(`The backup ${file} cannot be read: ${message}.`)
    if (/no identity matched/.test(message))
      throw new BackupError(
        'None of the given identities can decrypt this backup: give the identity of one of its recipients.',
      )
    throw new BackupError(`The backup is damaged or incomplete: ${message}.`, { cause: e })
  } finally {
    bytes.destroy()
  }
}

function encrypterFor(recipients: readonly string[]): Encrypter {
  if (recipients.length === 0)
    throw new BackupError('Name at least one recipient: without one nobody can decrypt the backup.')
  const encrypter = new Encrypter()
  for (const recipient of recipients)
    try {
      encrypter.addRecipient(recipient)
    } catch (cause) {
      throw new BackupError(`"${recipient}" is not an age recipient: a recipient begins with age1.`, { cause })
    }
  return encrypter
}

/** No error message contains any part of an identity. */
function decrypterFor(identities: readonly string[]): Decrypter {
  const decrypter = new Decrypter()
  for (const identity of identities)
    try {
      decrypter.addIdentity(identity)
    } catch (cause) {
      throw new BackupError('A line of the identity file is not an age identity (AGE-SECRET-KEY-…).', { cause })
    }
  return decrypter
}
