import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { ConnectionError } from '@holdfast/sdk'
import { UsageError } from './exit.ts'

export const readBytes = (path: string): Promise<Buffer> => attempt(`${path} can't be read`, () => readFile(path))
export const readText = async (path: string): Promise<string> => (await readBytes(path)).toString('utf8')

/** Writes a new file. Never overwrites an existing one. */
export const writeNew = (path: string, text: string, mode = 0o644): Promise<void> =>
  attempt(`${path} can't be written`, () => writeFile(path, text, { flag: 'wx', mode, flush: true }))

/** Replaces a file, completely or not at all. */
export async function replace(path: string, text: string): Promise<void> {
  const beside = `${path}.${process.pid}.new`
  await writeNew(beside, text)
  await attempt(`${path} can't be written`, () => rename(beside, path))
}

/** Writes into an existing file that was created for this. */
export const write = (path: string, content: string | AsyncIterable<Uint8Array>): Promise<void> =>
  attempt(`${path} can't be written`, () => writeFile(path, content, { flush: true }))

/** Creates files (0600) before the work that fills them. If the work fails, they are deleted. */
export async function withNewFiles<T>(names: readonly (string | undefined)[], work: () => Promise<T>): Promise<T> {
  const made: string[] = []
  try {
    for (const name of names) {
      if (name === undefined) continue
      await writeNew(name, '', 0o600)
      made.push(name)
    }
    return await work()
  } catch (e) {
    for (const name of made) await rm(name, { force: true })
    throw e
  }
}

/** Writes both files or neither. */
export const writeKeyPair = (
  files: { private_key: string; public_key: string },
  keys: { privateKey: string; publicKey: string },
): Promise<void> =>
  withNewFiles([files.private_key], async () => {
    await write(files.private_key, keys.privateKey)
    await writeNew(files.public_key, keys.publicKey)
  })

const explained: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  EISDIR: 'it is a directory; name a file',
  EEXIST: 'it already exists; name another file, or move this one',
}

/** Turns an error of the file system into a sentence. A `ConnectionError` of the written stream is rethrown. */
export async function attempt<T>(failure: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ConnectionError) throw error
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new UsageError(`${failure}: ${explained[code] ?? message}.`)
  }
}
