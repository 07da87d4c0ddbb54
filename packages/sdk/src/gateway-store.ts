import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readPrivateFile, writePrivateFile } from './private-file.ts'

/**
 * Where a gateway keeps what it must not forget with its process: texts by name (`[a-z0-9-]`, at most 80 characters).
 * What is loaded is verified again, so the store need not be trusted with more than keeping it from other eyes and
 * hands.
 */
export type GatewayStore = {
  /** Undefined: there is nothing of this name. */
  load: (name: string) => Promise<string | undefined>
  /** Durable when it settles, and after a crash there is the old or the new text, whole. Null removes. */
  save: (name: string, text: string | null) => Promise<void>
  /** The names there are. */
  list: () => Promise<string[]>
}

const isName = (name: string): boolean => /^[a-z0-9-]{1,80}$/.test(name)

/**
 * A folder (0700) of files (0600), each replaced atomically: written beside, synced, renamed. One process at a time.
 */
export function folderStore(path: string): GatewayStore {
  const fileOf = (name: string): string => {
    if (!isName(name)) throw new TypeError(`not a name of something stored: ${JSON.stringify(name)}`)
    return join(path, name)
  }
  const writing = new Map<string, Promise<void>>()
  return {
    load: async (name) => readPrivateFile(fileOf(name)),
    save: (name, text) => {
      const file = fileOf(name)
      const write = () => (text === null ? rm(file, { force: true }) : writePrivateFile(file, text))
      // Of two at the same time the later one stays.
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
