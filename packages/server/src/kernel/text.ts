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

/** Of C0 all but tab, line feed and carriage return; C1; line separators; overrides and isolates of direction. */
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const breaks = /[\t\n\r]/

/** Whether a text that people see has characters that they do not: control characters, and line breaks in one line. */
export const hasControls = (text: string, ofSeveralLines: boolean): boolean =>
  controls.test(text) || (!ofSeveralLines && breaks.test(text)) || !text.isWellFormed()

/** A text that others keep, such as a name in a directory, as one line. Nobody who could mend it is there. */
export const oneLine = (text: string): string =>
  hasControls(text, false)
    ? text
        .toWellFormed()
        .replaceAll(new RegExp(`${controls.source}|${breaks.source}`, 'g'), ' ')
        .trim()
    : text

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
