/**
 * What ends a line or moves a cursor somewhere: C0, DEL and C1 (in them CR, LF, NEL and the ESC of ANSI sequences),
 * the separators of lines and paragraphs, and what changes the direction of a text or can't be seen.
 */
const unprintable = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

/** A text of which a receiver shows what there is, and one line. */
export const printable = (text: string): string => text.toWellFormed().replaceAll(unprintable, '\ufffd')

/** The same JSON with each of these characters escaped: it reads as the same value, whatever takes a line for a line. */
export const printableJson = (json: string): string =>
  json.replaceAll(unprintable, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
