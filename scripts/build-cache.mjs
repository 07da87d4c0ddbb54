// Finished builds lie in node_modules/.cache/holdfast, each in a folder named by a fingerprint of its sources.
import { createHash } from 'node:crypto'
import { chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

const keepMs = 86_400_000

export const cacheFolder = (root) => join(root, 'node_modules', '.cache', 'holdfast')

/** The files below a folder whose names match, as paths from the root. */
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

/** Moves a build to its name. Of two processes that build the same, the first one to rename wins. */
export function finishBuild(root, unfinished, finished) {
  leaveToOwner(root, unfinished)
  if (!existsSync(finished)) renameSync(unfinished, finished)
}

/** A file that root made in another user's folder gets the owner of that folder. */
function leaveToOwner(root, made) {
  const { uid, gid } = statSync(root)
  if (process.getuid?.() !== 0 || uid === 0) return
  for (const path of [join(root, 'node_modules', '.cache'), cacheFolder(root)]) chownSync(path, uid, gid)
  for (const name of ['', ...readdirSync(made, { recursive: true })]) chownSync(join(made, name), uid, gid)
}

/** Removes builds of earlier sources, but none of the last day: a server may be starting from it. */
export function removeOldBuilds(root, current, isOfKind) {
  const folder = cacheFolder(root)
  for (const name of readdirSync(folder).filter(isOfKind)) {
    const path = join(folder, name)
    const isOld = Date.now() - statSync(path).mtimeMs > keepMs
    if (path !== current && isOld) rmSync(path, { recursive: true, force: true })
  }
}

/** Whether a file system refuses to be written, as a read-only tree does. */
export const isUnwritable = ({ code }) => ['EACCES', 'EROFS', 'EPERM', 'ENOSPC'].includes(code)
