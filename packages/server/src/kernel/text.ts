/**
 * Makes a caller's text storable: no NUL, no unpaired surrogate, at most `max` UTF-16 units, cut between two
 * characters.
 */
export function storable(text: string, max: number): string {
  const cutsPair = text.length > max && /[\ud800-\udbff]/.test(text[max - 1] ?? '')
  return text
    .slice(0, cutsPair ? max - 1 : max)
    .toWellFormed()
    .replaceAll('\0', replaced)
}

/** Cuts a text to at most `max` UTF-16 units, between two characters. A cut text ends in an ellipsis. */
export const shortened = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`

/** Replacement for characters that the database does not store. */
export const replaced = '\ufffd'

/** All of C0 except tab, line feed and carriage return; C1; line separators; direction overrides and isolates. */
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const breaks = /[\t\n\r]/

/** True if a text for people has invisible characters: control characters, or line breaks in a single line. */
export const hasControls = (text: string, ofSeveralLines: boolean): boolean =>
  controls.test(text) || (!ofSeveralLines && breaks.test(text)) || !text.isWellFormed()

/**
 * Makes a text of another system, such as a name in a directory, a single line. It is not refused, since the user can't
 * correct it.
 */
export const oneLine = (text: string): string =>
  hasControls(text, false)
    ? text
        .toWellFormed()
        .replaceAll(new RegExp(`${controls.source}|${breaks.source}`, 'g'), ' ')
        .trim()
    : text

/** True if the database can store the text unchanged. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/**
 * Serialises JSON that jsonb accepts for any text. JSON.stringify escapes exactly the characters that jsonb refuses.
 * Nearly all texts have none, so they are only scanned.
 */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (!text.includes('\\u0000') && !text.includes('\\ud')) return text
  return text.replaceAll(/\\(?:u(?:0000|d[89a-f][0-9a-f]{2})|.)/g, (sequence) =>
    sequence.length === 6 ? replaced : sequence,
  )
}
