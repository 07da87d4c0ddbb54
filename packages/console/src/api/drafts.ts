import { readBoot } from './boot.ts'

const key = 'holdfast.drafts'
type Kept = { user: string | null; values: Readonly<Record<string, unknown>> }

const userId = readBoot().me.user?.user_id ?? null
/** The values that forms hold now, by the key of the form. Undefined values are not kept. */
const holders = new Map<string, () => unknown>()
const kept = takeStored()

/** Reads what the page before the sign-in has stored, once. Drafts of another user are dropped. */
function takeStored(): Map<string, unknown> {
  const text = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  if (text === null) return new Map()
  const { user, values } = JSON.parse(text) as Kept
  return new Map(user === userId ? Object.entries(values) : [])
}

/**
 * Names a value that the page stores when it leaves for the sign-in. Secrets must not be among them.
 *
 * @param read gives the value at that time; undefined where nothing is to be kept
 * @returns removes the name again
 */
export function holdDraft(name: string, read: () => unknown): () => void {
  holders.set(name, read)
  return () => {
    if (holders.get(name) === read) holders.delete(name)
  }
}

/** Gives the value that was stored under a name before the sign-in. */
export const keptDraft = (name: string): unknown => kept.get(name)
export const dropDraft = (name: string): void => void kept.delete(name)

/** Stores the drafts of the open forms in the session storage of this tab. */
export function storeDrafts(): void {
  const values = Object.fromEntries(
    Array.from(holders, ([name, read]) => [name, read()] as const).filter(([, value]) => value !== undefined),
  )
  if (Object.keys(values).length > 0)
    sessionStorage.setItem(key, JSON.stringify({ user: userId, values } satisfies Kept))
}
