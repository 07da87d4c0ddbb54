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
/** Keeps a value for the next form of that name on this page. */
export const keepDraft = (name: string, value: unknown): void => void kept.set(name, value)
export const dropDraft = (name: string): void => void kept.delete(name)

const savers = new Set<() => Promise<unknown>>()
/** Registers an action that saves changes before the session ends. Returns a function that removes it. */
export function beforeSignOut(save: () => Promise<unknown>): () => void {
  savers.add(save)
  return () => void savers.delete(save)
}
/** Saves all changes that would be lost without the session. */
export const saveBeforeSignOut = (): Promise<unknown> => Promise.allSettled(Array.from(savers, (save) => save()))

/** Stores the drafts of the open forms in the session storage of this tab. */
export function storeDrafts(): void {
  const values = Object.fromEntries(
    Array.from(holders, ([name, read]) => [name, read()] as const).filter(([, value]) => value !== undefined),
  )
  if (Object.keys(values).length > 0)
    writeStored('sessionStorage', key, JSON.stringify({ version, user: userId, values } satisfies Kept))
}
