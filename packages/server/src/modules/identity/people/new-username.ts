import { type CanonicalUsername, canonicalUsername } from './username.ts'

/** Username of the account that `HOLDFAST_BREAK_GLASS_PASSWORD` opens. */
export const breakGlassUsername = 'break-glass'
/** Length in UTF-16 code units. Directories have the same limit. */
export const longestUsername = 256

/** Maps spellings that a reader takes for the same name to one: compatibility forms, case, and invisible characters. */
const readAs = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')

/**
 * Checks a username, for every way to create or rename a user. `current` is the user's existing name. It stays allowed,
 * since an older version may have accepted it.
 */
export function newUsername(text: string, current?: string): CanonicalUsername {
  if (text.length > longestUsername) return { problem: `must have at most ${longestUsername} characters` }
  const canonical = canonicalUsername(text)
  if (canonical.name !== undefined && canonical.name === current) return canonical
  if (readAs(text) === breakGlassUsername)
    return { problem: `is reserved for the emergency account (HOLDFAST_BREAK_GLASS_PASSWORD): choose another name` }
  // At sign-in, a slash separates the tenant from the username.
  if ((canonical.name ?? text).includes('/'))
    return { problem: 'must not contain a slash, because "tenant/name" is a sign-in to another tenant' }
  return canonical
}
