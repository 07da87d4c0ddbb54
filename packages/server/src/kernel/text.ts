/**
 * A text that a caller chose, as the database can keep it: no NUL, no half of a surrogate pair, at most `max` units,
 * cut between two characters.
 */
export function storable(text: string, max: number): string {
  const cutsPair = text.length > max && /[\ud800-\udbff]/.test(text[max - 1] ?? '')
  return text
    .slice(0, cutsPair ? max - 1 : max)
    .toWellFormed()
    .replaceAll('\0', replaced)
}

/** At most `max` units of a text, whole characters; one that was longer ends in an ellipsis, which says so. */
export const shortened = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`

/** What stands for what the database does not keep. */
export const replaced = '\ufffd'

/** Whether the database can keep it as it is. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/**
 * JSON that jsonb takes, whatever texts are in it: JSON.stringify escapes what jsonb refuses, and nothing else like it.
 * Nearly all texts have nothing of it, and are only looked through.
 */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (!text.includes('\\u0000') && !text.includes('\\ud')) return text
  return text.replaceAll(/\\(?:u(?:0000|d[89a-f][0-9a-f]{2})|.)/g, (sequence) =>
    sequence.length === 6 ? replaced : sequence,
  )
}
