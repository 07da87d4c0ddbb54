// Finished builds are in node_modules/.cache/holdfast, each in a folder named by a fingerprint of its sources.
import { createHash } from 'node:crypto'
import { chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

const keepMs = 86_400_000

export const cacheFolder = (root) => join(root, 'node_modules', '.cache', 'holdfast')

/** Lists matching files below a folder, as paths from the root. */
export function filesBelow(root, folder, pattern) {
  if (!existsSync(join(root, folder))) return []
  const names = readdirSync(join(root, folder), { recursive: true })
  return names.filter((name) => pattern.test(name)).map((name) => join(folder, name))
}

export function fingerprintOf(root, files) {
  const hash = createHash('sha256')
  for (const file of files.toSorted())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex').slice(0, 32)
}

/** Renames a build to its final name. Of two processes with the same build, the first to rename wins. */
export function finishBuild(root, unfinished, finished) {
  leaveToOwner(root, unfinished)
  if (!existsSync(finished)) renameSync(unfinished, finished)
}

/** Gives a file that root created in another user's folder to the owner of that folder. */
function leaveToOwner(root, made) {
  const { uid, gid } = statSync(root)
  if (process.getuid?.() !== 0 || uid === 0) return
  for (const path of [join(root, 'node_modules', '.cache'), cacheFolder(root)]) chownSync(path, uid, gid)
  for (const name of ['', ...readdirSync(made, { recursive: true })]) chownSync(join(made, name), uid, gid)
}

/** Removes builds of earlier sources, except those of the last day: a server may be starting from one. */
export function removeOldBuilds(root, current, isOfKind) {
  const folder = cacheFolder(root)
  for (const name of readdirSync(folder).filter(isOfKind)) {
    const path = join(folder, name)
    const isOld = Date.now() - statSync(path).mtimeMs > keepMs
    if (path !== current && isOld) rmSync(path, { recursive: true, force: true })
  }
}

/** True if the file system can't be written, such as a read-only tree. */
export const isUnwritable = ({ code }) => ['EACCES', 'EROFS', 'EPERM', 'ENOSPC'].includes(code)
