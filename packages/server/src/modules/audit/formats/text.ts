/**
 * Characters that end a line, move the cursor, change the text direction or are invisible. C0, DEL and C1 include CR,
 * LF, NEL and the ESC of ANSI sequences. Then there are line and paragraph separators, direction marks, fillers and
 * zero-width blanks. The tags of U+E0000 spell out invisible ASCII.
 */
const hidden =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e' +
  '\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb'
const tag = '\\udb40[\\udc00-\\udc7f]'
const unprintable = new RegExp(`[${hidden}]|${tag}`, 'g')
/** Variation selectors are invisible too, but many names with emoji contain them. */
const escapable = new RegExp(`[${hidden}\\ufe00-\\ufe0f]|${tag}`, 'g')

/** Replaces these characters, so that the text is displayed in full and on one line. */
export const printable = (text: string): string => text.toWellFormed().replaceAll(unprintable, '\ufffd')

/** Escapes these characters in JSON. The value stays the same, and every reader sees one line. */
export const printableJson = (json: string): string => json.replaceAll(escapable, escapedJson)

/** Escapes as JSON allows within a string. */
export const escapedJson = (text: string): string =>
  text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
