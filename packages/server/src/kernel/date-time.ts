import { IsDateTime } from 'typebox/format'
import { failField } from './app-error.ts'
import { second } from './time.ts'

/**
 * True for a date-time (RFC 3339) that all parts of the system accept: an existing date and time, without a leap
 * second, with a four-digit year.
 */
export function isDateTime(text: string): boolean {
  const at = Date.parse(text)
  return IsDateTime(text) && !/:60/.test(text) && at >= earliest && at <= latest
}
const earliest = Date.parse('0001-01-01T00:00:00Z')
const latest = Date.parse('9999-12-31T23:59:59.999Z')

/** Parses a bound in the past (`Ago` of the contract): a number of seconds before `at`, or a time. */
export function parseAgo(field: string, text: string, at: Date): Date {
  if (/^[0-9]+$/.test(text)) return new Date(at.getTime() - Number(text) * second)
  if (!isDateTime(text))
    failField(field, 'must be a number of seconds, or an RFC 3339 time such as 2026-01-31T09:30:00Z')
  return new Date(text)
}
