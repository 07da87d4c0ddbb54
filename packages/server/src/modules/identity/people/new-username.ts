import { type CanonicalUsername, canonicalUsername } from './username.ts'

/** The account that `HOLDFAST_BREAK_GLASS_PASSWORD` opens. */
export const breakGlassUsername = 'break-glass'
/** In UTF-16 code units. Names of directories have at most as many. */
export const longestUsername = 256

/** Spellings that a reader takes for the same name: compatibility forms, case, and characters that show nothing. */
const readAs = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')

/**
 * The one judge of what a user may be called, for every way by which a user is made or renamed. `current` is the name
 * that the user has already, which stays allowed: an older version may have given it.
 */
export function newUsername(text: string, current?: string): CanonicalUsername {
  if (text.length > longestUsername) return { problem: `must have at most ${longestUsername} characters` }
  const judged = canonicalUsername(text)
  if (judged.name !== undefined && judged.name === current) return judged
  if (readAs(text) === breakGlassUsername)
    return { problem: `is reserved for the emergency account (HOLDFAST_BREAK_GLASS_PASSWORD): choose another name` }
  // At sign-in a tenant stands in front of it.
  if ((judged.name ?? text).includes('/'))
    return { problem: 'must not have a slash: "tenant/name" signs in to another tenant' }
  return judged
}
