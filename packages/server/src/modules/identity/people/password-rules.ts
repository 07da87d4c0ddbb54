import { passwordWithSecondFactor } from '@holdfast/contract/limits'
import { canonicalPassword } from '@holdfast/crypto'
import { isGuessable, type KnownPasswords, repeatedUnit } from './password-guesses.ts'

/** Name of the service, as a context word for every password. */
export const serviceName = 'holdfast'
const maxLength = 128
/** Minimum length of a context word; shorter ones are part of too many good passwords. */
const shortestWord = 4

let blocked: Promise<KnownPasswords> | undefined
/**
 * List of passwords and words that attackers try first, one a line, loaded when the first password is set. As one text
 * it takes a third of the memory of separate strings, so the package's own lists are emptied.
 */
const blocklist = () => {
  blocked ??= import('@zxcvbn-ts/language-common').then(({ default: { dictionary } }) => {
    const lines = `\n${Object.values(dictionary).flat().map(foldCase).join('\n')}\n`
    for (const list of Object.values(dictionary)) list.length = 0
    return {
      has: (text) => lines.includes(`\n${text}\n`),
      beginsOne: (text) => lines.includes(`\n${text}`),
    }
  })
  return blocked
}

const foldCase = (text: string) => canonicalPassword(text).toLowerCase()

/**
 * Returns why this cannot be a password, or undefined (NIST SP 800-63B-4 §3.1.1.2): by its length in characters, and by
 * the guesses that attackers try first. There are no rules for kinds of characters. `words` are context words: the
 * names of the user, the tenant and the service.
 */
export async function passwordProblem(
  password: string,
  { minLength, mfa, words }: { minLength: number; mfa: boolean; words: readonly string[] },
): Promise<string | undefined> {
  const text = foldCase(password)
  const length = [...canonicalPassword(password)].length
  const least = mfa ? Math.min(passwordWithSecondFactor, minLength) : minLength
  if (length < least) return `must have at least ${least} characters`
  if (length > maxLength) return `must have at most ${maxLength} characters`
  const known = await blocklist()
  if (known.has(text)) return tooCommon
  const unit = repeatedUnit(text)
  if (unit !== undefined && ([...unit].length < passwordWithSecondFactor || known.has(unit)))
    return 'repeats a short text: use several unrelated words'
  const folded = words.map(foldCase)
  if (folded.includes(text)) return 'is the name of the account or of the service: use several unrelated words'
  let rest = text
  for (const word of folded.toSorted((a, b) => b.length - a.length))
    if ([...word].length >= shortestWord) rest = rest.replaceAll(word, '')
  if (rest !== text && ([...rest].length < passwordWithSecondFactor || isPadding(rest) || isGuessable(rest, known)))
    return 'consists mostly of the name of the account or of the service: use several unrelated words'
  return isGuessable(text, known) ? tooCommon : undefined
}
const tooCommon =
  'is a common password, or one with added digits or signs, so attackers try it first: use several unrelated words'

/** True for digits and signs alone, up to the length that is tried with every name. */
const isPadding = (text: string) => text.length < 12 && !/\p{L}/u.test(text)
