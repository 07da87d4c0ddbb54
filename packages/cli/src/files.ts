import { readFile, writeFile } from 'node:fs/promises'
import { UsageError } from './exit.ts'

export const readBytes = (path: string): Promise<Buffer> => attempt(`${path} can't be read`, () => readFile(path))
export const readText = async (path: string): Promise<string> => (await readBytes(path)).toString('utf8')

/** Never over a file that is there already. */
export const writeNew = (path: string, text: string, mode = 0o644): Promise<void> =>
  attempt(`${path} can't be written`, () => writeFile(path, text, { flag: 'wx', mode, flush: true }))

const explained: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  EISDIR: 'it is a directory; name a file',
  EEXIST: 'it is there already and is not overwritten; name another, or move it away',
}

/** A failure of the file system as a sentence. */
export async function attempt<T>(failure: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new UsageError(`${failure}: ${explained[code] ?? message}.`)
  }
}
