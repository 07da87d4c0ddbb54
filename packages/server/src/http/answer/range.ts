import type { ByteRange } from '../../kernel/download.ts'

const one = /^bytes=(\d{0,15})-(\d{0,15})$/i

/**
 * Parses `Range` with one part (RFC 9110 §14.1.2, §14.2). Undefined if the whole is to be sent: for several parts,
 * another unit, or an invalid value. `unsatisfiable`: the part is out of bounds.
 */
export function rangeOf(range: string | undefined, size: number): ByteRange | undefined | 'unsatisfiable' {
  const [, from = '', to = ''] = (range === undefined ? undefined : one.exec(range.trim())) ?? []
  if (from === '' && to === '') return undefined
  if (from === '') {
    const suffix = Number(to)
    return suffix === 0 || size === 0 ? 'unsatisfiable' : { first: Math.max(0, size - suffix), last: size - 1 }
  }
  const [first, last] = [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)]
  if (to !== '' && Number(to) < first) return undefined
  return first >= size ? 'unsatisfiable' : { first, last }
}
