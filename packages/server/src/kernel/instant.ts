import { IsDateTime } from 'typebox/format'

/**
 * A date-time (RFC 3339) that every part of the house takes: a real moment of a real day, without a leap second, of
 * four-digit years.
 */
export function isInstant(text: string): boolean {
  const at = Date.parse(text)
  return IsDateTime(text) && !/:60/.test(text) && at >= earliest && at <= latest
}
const earliest = Date.parse('0001-01-01T00:00:00Z')
const latest = Date.parse('9999-12-31T23:59:59.999Z')
