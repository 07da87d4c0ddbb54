import { readBoot } from './boot.ts'
import { readStored, writeStored } from './browser-storage.ts'

const key = 'holdfast.drafts'
type Kept = { version: string; user: string | null; values: Readonly<Record<string, unknown>> }

const { me, version } = readBoot()
const userId = me.user?.user_id ?? null
/** Functions that return the current values of open forms, by the key of the form. Undefined values are not stored. */
const holders = new Map<string, () => unknown>()
const kept = takeStored()

/**
 * Reads and removes the values that the page stored before the sign-in. Drops the drafts of another user, those of
 * another version, whose forms may differ, and a text that is no draft.
 */
function takeStored(): Map<string, unknown> {
  const text = readStored('sessionStorage', key)
  writeStored('sessionStorage', key, null)
  try {
    const stored = JSON.parse(text ?? 'null') as Kept | null
    if (stored?.user !== userId || stored.version !== version) return new Map()
    return new Map(Object.entries(stored.values))
  } catch {
    return new Map()
  }
}

/**
 * Registers a value that the page stores when it leaves for the sign-in. Never register secrets.
 *
 * @param read returns the current value; undefined if there is nothing to store
 * @returns function that removes the registration
 */
export function holdDraft(name: string, read: () => unknown): () => void {
  holders.set(name, read)
  return () => {
    if (holders.get(name) === read) holders.delete(name)
  }
}

/** Returns the value that was stored under a name before the sign-in. */
export const keptDraft = (name: string): unknown => kept.get(name)
export const dropDraft = (name: string): void => void kept.delete(name)

/** Stores the drafts of the open forms in the session storage of this tab. */
export function storeDrafts(): void {
  const values = Object.fromEntries(
    Array.from(holders, ([name, read]) => [name, read()] as const).filter(([, value]) => value !== undefined),
  )
  if (Object.keys(values).length > 0)
    writeStored('sessionStorage', key, JSON.stringify({ version, user: userId, values } satisfies Kept))
}
