import fc, { type StringConstraints } from 'fast-check'

/** Every code point except half surrogate pairs. */
const character = fc.nat(0x10ffff - 0x800).map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800))

/**
 * Text of any characters, as `fc.string({ unit: 'binary' })` makes it. That one first puts all 1.1 million characters
 * into a map, which takes seconds.
 *
 * @example fc.assert(fc.property(anyText({ maxLength: 20 }), (text) => parse(text) !== undefined))
 */
export const anyText = (length: Pick<StringConstraints, 'minLength' | 'maxLength'> = {}) =>
  fc.string({ ...length, unit: character })
