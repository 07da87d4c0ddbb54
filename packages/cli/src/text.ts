/** Names come from devices and users: what could steer a terminal is shown as its code instead. */
export const plain = (text: string): string =>
  text.replaceAll(/[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, codeOf)

/**
 * A text of several lines, whose line breaks stay. Those after the first are set in, so that none looks like one of
 * ours.
 */
export const plainLines = (text: string): string[] =>
  text
    .trimEnd()
    .split(/\r\n|\n/)
    .map((line, n) => (n === 0 || line === '' ? plain(line) : `  ${plain(line)}`))

const codeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** JSON that is safe on a terminal too: JSON itself lets C1 controls through. */
export const jsonText = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replaceAll(/[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, codeOf)

/** `1 session ended`, `2 sessions ended` */
export const countText = (count: number, noun: string, rest: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'} ${rest}`

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** `0 B`, `1.5 kB`, `12.0 GB`: by powers of 1000, as limits count them. */
export function bytesText(bytes: number): string {
  let [value, power] = [bytes, 0]
  // What would be rounded up to 1000 is 1 of the next.
  for (; power < byteUnits.length - 1 && value >= (power === 0 ? 1000 : 999.95); power++) value /= 1000
  return `${power === 0 ? value : value.toFixed(1)} ${byteUnits[power]}`
}

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** `90s`, `30m`, `24h`, `7d` or plain seconds → seconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * units[unit as keyof typeof units]
}
