import fc, { type StringConstraints } from 'fast-check'

/** Every code point except half surrogate pairs. */
const character = fc.nat(0x10ffff - 0x800).map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800))

/**
 * Text of any characters, such as `fc.string({ unit: 'binary' })`, which lists all 1.1 million of them in a map first
 * and takes three seconds for it.
 */
export const anyText = (length: Pick<StringConstraints, 'minLength' | 'maxLength'> = {}) =>
  fc.string({ ...length, unit: character })
