import pg from 'pg'

const slow = pg.types.getTypeParser(1184, 'text') as (text: string) => unknown
const digits = (text: string, at: number, count: number): number => {
  let value = 0
  for (let i = at; i < at + count; i++) value = value * 10 + text.charCodeAt(i) - zero
  return value
}
const zero = '0'.charCodeAt(0)

/**
 * Parses a timestamptz in PostgreSQL's UTC format; all sessions use UTC: `2026-11-22 08:25:33.123456+00`, with none to
 * six digits after the dot. Fractions of a millisecond are dropped. Other formats go to the library.
 */
export function readTimestamp(text: string): unknown {
  const isUsual = text[4] === '-' && text[10] === ' ' && text[0] !== '0' && text.endsWith('+00')
  if (!isUsual) return slow(text)
  const fraction = text.slice(20, -3).slice(0, 3)
  const ms = fraction === '' ? 0 : digits(fraction.padEnd(3, '0'), 0, 3)
  return new Date(
    Date.UTC(
      digits(text, 0, 4),
      digits(text, 5, 2) - 1,
      digits(text, 8, 2),
      digits(text, 11, 2),
      digits(text, 14, 2),
      digits(text, 17, 2),
      ms,
    ),
  )
}
