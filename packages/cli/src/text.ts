/** Escapes characters that could control a terminal, since names come from devices and users. */
export const plain = (text: string): string =>
  text.replaceAll(/[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, codeOf)

/**
 * Escapes a text of several lines and keeps its line breaks. Lines after the first are indented, so that none looks
 * like our own output.
 */
export const plainLines = (text: string): string[] =>
  text
    .trimEnd()
    .split(/\r\n|\n/)
    .map((line, n) => (n === 0 || line === '' ? plain(line) : `  ${plain(line)}`))

const codeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Formats JSON that is safe on a terminal: JSON itself allows C1 controls. */
export const jsonText = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replaceAll(/[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, codeOf)

/** `1 session ended`, `2 sessions ended` */
export const countText = (count: number, noun: string, rest: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'} ${rest}`

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** `0 B`, `1.5 kB`, `12.0 GB`: by powers of 1000, like limits. */
export function bytesText(bytes: number): string {
  let [value, power] = [bytes, 0]
  // Values that would round to 1000 use the next unit.
  for (; power < byteUnits.length - 1 && value >= (power === 0 ? 1000 : 999.95); power++) value /= 1000
  return `${power === 0 ? value : value.toFixed(1)} ${byteUnits[power]}`
}

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** `90s`, `30m`, `24h`, `7d` or plain seconds → seconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * units[unit as keyof typeof units]
}
