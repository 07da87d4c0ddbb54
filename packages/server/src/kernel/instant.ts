import { IsDateTime } from 'typebox/format'
import { failField } from './app-error.ts'
import { second } from './time.ts'

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

/** A bound in the past, as `Ago` of the contract has it: so many seconds before `at`, or a time. */
export function readAgo(field: string, text: string, at: Date): Date {
  if (/^[0-9]+$/.test(text)) return new Date(at.getTime() - Number(text) * second)
  if (!isInstant(text))
    failField(field, 'must be a number of seconds, or an RFC 3339 time such as 2026-01-31T09:30:00Z')
  return new Date(text)
}
