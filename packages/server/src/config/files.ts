import { readFileSync, statSync } from 'node:fs'
import type { Variable } from './env.ts'
import { shown, wrongSetting } from './wrong-setting.ts'

/** Size limit. Keys, certificates, licenses and PINs are small; a device or a disk image is not. */
const largestBytes = 1024 * 1024

/** Returns the reason why a path can't be used. The text follows "names the file …, which". */
function reasonOf(e: unknown): string {
  const { code, message } = e as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'does not exist'
  if (code === 'EACCES' || code === 'EPERM') return 'this user may not read'
  if (code === 'ENOTDIR') return 'is below a path that is not a directory'
  if (code === 'ELOOP') return 'is a symbolic link to itself'
  return `cannot be read (${code ?? message})`
}

/**
 * Reads a file that a variable names.
 *
 * @throws ConfigError that names the variable, the file and the reason
 */
export function readNamedFile(name: Variable, file: string, takes: string): Buffer {
  const wrong = (why: string) => wrongSetting(name, `names the file ${shown(file)}, which ${why}`, takes)
  try {
    const found = statSync(file)
    if (found.isDirectory()) throw wrong('is a directory')
    if (!found.isFile()) throw wrong('is not a regular file')
    if (found.size > largestBytes) throw wrong(`has ${found.size} bytes`)
  } catch (e) {
    throw (e as NodeJS.ErrnoException).code ? wrong(reasonOf(e)) : e
  }
  let content: Buffer
  try {
    content = readFileSync(file)
  } catch (e) {
    throw wrong(reasonOf(e))
  }
  if (content.toString('utf8').trim() === '') throw wrong('is empty')
  return content
}

/**
 * An existing path must be a directory; a missing one is created on use. A directory that is unreadable for now, such
 * as an unavailable mount, does not fail the start.
 */
export function checkDirectory(name: Variable, directory: string): void {
  const wrong = (why: string) => wrongSetting(name, `names ${shown(directory)}, which ${why}`, 'a directory')
  try {
    if (!statSync(directory).isDirectory()) throw wrong('is a file')
  } catch (e) {
    const { code } = e as NodeJS.ErrnoException
    if (code === undefined) throw e
    if (code === 'ENOTDIR' || code === 'ELOOP') throw wrong(reasonOf(e))
  }
}
