const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const digitOf = new Map([...alphabet].map((character, value) => [character, value]))
/** Number of digits that a double represents exactly. */
const chunk = 8

/** Returns the last `length` digits of a number, padded with zeros. */
export function toBase62(value: bigint, length: number): string {
  let rest = value
  let digits = ''
  for (let i = 0; i < length; i++) {
    digits = alphabet[Number(rest % 62n)] + digits
    rest /= 62n
  }
  return digits
}

/** Encodes a UUID, as one number, in 22 characters. */
export const encodeUuid62 = (uuid: string): string => toBase62(BigInt(`0x${uuid.replaceAll('-', '')}`), 22)

/** Returns the number of some digits, or undefined if a character is no digit. */
export function fromBase62(text: string): bigint | undefined {
  let value = 0n
  for (let at = 0; at < text.length; at += chunk) {
    const part = text.slice(at, at + chunk)
    let digits = 0
    for (const character of part) digits = digits * 62 + (digitOf.get(character) ?? Number.NaN)
    if (Number.isNaN(digits)) return undefined
    value = value * 62n ** BigInt(part.length) + BigInt(digits)
  }
  return value
}

/** Decodes 22 base62 characters to a UUID, or returns undefined if the number is too large. */
export function decodeUuid62(text: string): string | undefined {
  const value = text.length === 22 ? fromBase62(text) : undefined
  const hex = value?.toString(16).padStart(32, '0')
  if (hex === undefined || hex.length > 32) return undefined
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
