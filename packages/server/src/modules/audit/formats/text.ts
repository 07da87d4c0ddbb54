/**
 * What ends a line or moves a cursor somewhere: C0, DEL and C1 (in them CR, LF, NEL and the ESC of ANSI sequences),
 * the separators of lines and paragraphs, and what changes the direction of a text or can't be seen: fillers, blanks of
 * no width, and the tags of U+E0000, which spell out ASCII that nobody sees.
 */
const hidden =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e' +
  '\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb'
const tag = '\\udb40[\\udc00-\\udc7f]'
const unprintable = new RegExp(`[${hidden}]|${tag}`, 'g')
/** Variation selectors can't be seen either, but names with emoji are full of them. */
const escapable = new RegExp(`[${hidden}\\ufe00-\\ufe0f]|${tag}`, 'g')

/** A text of which a receiver shows what there is, and one line. */
export const printable = (text: string): string => text.toWellFormed().replaceAll(unprintable, '\ufffd')

/** The same JSON with each of these characters escaped: it reads as the same value, whatever takes a line for a line. */
export const printableJson = (json: string): string => json.replaceAll(escapable, escapedJson)

/** As JSON may write it within a text. */
export const escapedJson = (text: string): string =>
  text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
