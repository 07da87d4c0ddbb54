import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readPrivateFile, writePrivateFile } from '../private-file.ts'

/**
 * Storage for a gateway's data across restarts: texts by name (`[a-z0-9-]`, at most 80 characters). Loaded data is
 * verified again, so the store only has to protect it from other users.
 */
export type GatewayStore = {
  /** Returns undefined if there is no such name. */
  load: (name: string) => Promise<string | undefined>
  /** Durable when it settles. After a crash there is either the old or the new text, complete. Null removes. */
  save: (name: string, text: string | null) => Promise<void>
  /** Returns all names. */
  list: () => Promise<string[]>
}

const isName = (name: string): boolean => /^[a-z0-9-]{1,80}$/.test(name)

/**
 * Stores files (0600) in a folder (0700), each replaced atomically: written to a temporary file, synced, renamed. For
 * one process at a time.
 */
export function folderStore(path: string): GatewayStore {
  const fileOf = (name: string): string => {
    if (!isName(name)) throw new TypeError(`not a valid name in the store: ${JSON.stringify(name)}`)
    return join(path, name)
  }
  const writing = new Map<string, Promise<void>>()
  return {
    load: async (name) => readPrivateFile(fileOf(name)),
    save: (name, text) => {
      const file = fileOf(name)
      const write = () => (text === null ? rm(file, { force: true }) : writePrivateFile(file, text))
      // Of two concurrent writes the later one wins.
      const written = (writing.get(name) ?? Promise.resolve()).catch(() => undefined).then(write)
      writing.set(name, written)
      return written.finally(() => {
        if (writing.get(name) === written) writing.delete(name)
      })
    },
    list: async () => {
      try {
        return (await readdir(path)).filter(isName)
      } catch (e) {
        if (e instanceof Error && 'code' in e && e.code === 'ENOENT') return []
        throw e
      }
    },
  }
}
