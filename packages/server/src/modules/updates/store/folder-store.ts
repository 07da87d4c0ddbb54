import { constants } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { missing } from '../../../kernel/ids.ts'
import type { ByteRange } from '../../../kernel/results.ts'
import { type BlobName, type PackageStore, pathOf } from './store.ts'

/** A store with a folder for each tenant. With several replicas all of them must share the folder. */
export function createFolderStore(dir: string): PackageStore {
  const blobs = join(dir, 'blobs')
  const fileOf = (name: BlobName) => join(blobs, pathOf(name))
  return {
    put: async (name, file) => {
      const target = fileOf(name)
      await mkdir(dirname(target), { recursive: true, mode: 0o700 })
      await rename(file, target)
      for (const folder of [dirname(target), blobs, dir]) await sync(folder)
    },
    open: async (name, size, range) => {
      // A link or another special file was not put here by this server.
      const handle = await open(fileOf(name), constants.O_RDONLY | constants.O_NOFOLLOW).catch((e) =>
        e.code === 'ELOOP' ? missing('package') : Promise.reject(e),
      )
      try {
        const found = await handle.stat()
        if (!found.isFile() || found.size !== size)
          throw new Error('a package in the folder is missing or has another size')
        return handle.createReadStream(boundsOf(range))
      } catch (e) {
        await handle.close()
        throw e
      }
    },
    remove: (name) => rm(fileOf(name), { force: true }),
  }
}

const boundsOf = (range: ByteRange | undefined) => (range ? { start: range.first, end: range.last } : {})

/** Syncs a folder, so that the names in it survive a power failure. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
