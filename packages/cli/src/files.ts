import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { ConnectionError } from '@holdfast/sdk'
import { UsageError } from './exit.ts'

export const readBytes = (path: string): Promise<Buffer> => attempt(`${path} can't be read`, () => readFile(path))
export const readText = async (path: string): Promise<string> => (await readBytes(path)).toString('utf8')

/** Never over a file that is there already. */
export const writeNew = (path: string, text: string, mode = 0o644): Promise<void> =>
  attempt(`${path} can't be written`, () => writeFile(path, text, { flag: 'wx', mode, flush: true }))

/** In place of what was there: whole, or not at all. */
export async function replace(path: string, text: string): Promise<void> {
  const beside = `${path}.${process.pid}.new`
  await writeNew(beside, text)
  await attempt(`${path} can't be written`, () => rename(beside, path))
}

/** Into a file that was made for it. */
export const write = (path: string, content: string | AsyncIterable<Uint8Array>): Promise<void> =>
  attempt(`${path} can't be written`, () => writeFile(path, content, { flush: true }))

/** Files that only their owner reads, made before the work that fills them; where it fails, they go again. */
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

/** Both or neither. */
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
  EEXIST: 'it is there already and is not overwritten; name another, or move it away',
}

/** A failure of the file system as a sentence; that of what was to be written stays what it is. */
export async function attempt<T>(failure: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ConnectionError) throw error
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new UsageError(`${failure}: ${explained[code] ?? message}.`)
  }
}
