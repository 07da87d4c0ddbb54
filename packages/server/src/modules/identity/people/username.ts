/**
 * Usernames by the profile UsernameCaseMapped of PRECIS (RFC 8265 §3.3): width mapping, lower case, NFC. Then only the
 * IdentifierClass of RFC 8264 is allowed, with the Bidi Rule of RFC 5893. Against look-alikes, UTS #39 §5.2 applies:
 * the letters of a name are of one script, at the level "highly restrictive". Join controls, which RFC 5892 allows in
 * some contexts of a few scripts, are refused.
 */
export type CanonicalUsername = { name: string; problem?: never } | { name?: never; problem: string }

export function canonicalUsername(text: string): CanonicalUsername {
  if (/^[a-z0-9._@+-]+$/.test(text)) return { name: text }
  const name = mapped(text)
  if (name === '') return { problem: 'must not be empty' }
  for (const c of name)
    if (!isValid(c, name)) return { problem: `must not contain the character ${codePoint(c)} (RFC 8265)` }
  // A name that changes when mapped again has no stable spelling (RFC 8264 §7).
  if (mapped(name) !== name) return { problem: 'changes each time it is normalized (RFC 8265)' }
  if (!obeysBidiRule(name))
    return { problem: 'mixes left-to-right and right-to-left text in a way that is not allowed (RFC 5893)' }
  if (!isHighlyRestrictive(name)) return { problem: 'mixes scripts whose letters look alike (UTS #39)' }
  return { name }
}

/** Maps fullwidth and halfwidth forms to ordinary ones, in lower case and composed. */
const mapped = (text: string): string =>
  text
    .replaceAll(/[\u3000\uff01-\uffef]/g, (c) => c.normalize('NFKC'))
    .toLowerCase()
    .normalize('NFC')

const ascii = /^[!-~]$/
const letterDigit = /^[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]$/u
const disallowed =
  /^[\p{Cc}\p{Cn}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]$/u
const exceptionallyValid = /^[\u00df\u03c2\u06fd\u06fe\u0f0b\u3007]$/
const exceptionallyDisallowed = /^[\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b]$/

/** Contextual rules (RFC 5892, appendix A.3 to A.9): a character, and the name that it requires around it. */
const contextual: readonly (readonly [character: RegExp, context: RegExp])[] = [
  [/^\u00b7$/, /^(?:[^\u00b7]|(?<=l)\u00b7(?=l))*$/u],
  [/^\u0375$/, /^(?:[^\u0375]|\u0375(?=\p{Script=Greek}))*$/u],
  [/^[\u05f3\u05f4]$/, /^(?:[^\u05f3\u05f4]|(?<=\p{Script=Hebrew})[\u05f3\u05f4])*$/u],
  [/^\u30fb$/, /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u],
  [/^[\u0660-\u0669]$/, /^[^\u06f0-\u06f9]*$/],
  [/^[\u06f0-\u06f9]$/, /^[^\u0660-\u0669]*$/],
]

/** True if this character of the name is in the IdentifierClass (RFC 8264 §8, in its order). */
function isValid(c: string, name: string): boolean {
  if (exceptionallyValid.test(c)) return true
  if (exceptionallyDisallowed.test(c)) return false
  const rule = contextual.find(([character]) => character.test(c))
  if (rule) return rule[1].test(name)
  if (ascii.test(c)) return true
  if (disallowed.test(c)) return false
  return c.normalize('NFKC') === c && letterDigit.test(c)
}

const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}\p{Script=Mende_Kikakui}]/u

/** True if a name with right-to-left letters has no other letters, begins with one, and ends with one or a digit. */
function obeysBidiRule(name: string): boolean {
  if (!rightToLeft.test(name)) return true
  const letters = [...name].filter((c) => /\p{L}/u.test(c))
  const last = [...name].findLast((c) => !/\p{Mn}/u.test(c)) ?? ''
  const [first = ''] = name
  return (
    letters.every((c) => rightToLeft.test(c)) &&
    rightToLeft.test(first) &&
    /\p{L}/u.test(first) &&
    (/\p{Nd}/u.test(last) || rightToLeft.test(last)) &&
    !(/[0-9\u06f0-\u06f9]/.test(name) && /[\u0660-\u0669]/.test(name))
  )
}

/** Scripts that UAX #31 (table 5) recommends for identifiers, and the mixtures that UTS #39 adds. */
const recommended =
  'Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan'
const mixtures = ['Latin Han Hiragana Katakana', 'Latin Han Bopomofo', 'Latin Han Hangul']
const alphabets = [...recommended.split(' '), ...mixtures].map((scripts) => {
  const classes = [...scripts.split(' '), 'Common', 'Inherited'].map((s) => `\\p{Script_Extensions=${s}}`)
  return new RegExp(`^[${classes.join('')}]+$`, 'u')
})
const isHighlyRestrictive = (name: string): boolean => alphabets.some((alphabet) => alphabet.test(name))

const codePoint = (c: string) => `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
