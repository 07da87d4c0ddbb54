/**
 * Parses an RFC 3339 time to milliseconds since the epoch, or returns null. Stricter than `Date.parse`, which also
 * accepts `1` and `May`. A leap second is not accepted.
 */
export function parseInstant(text: string): number | null {
  if (text.length < 20 || text.length > 40 || !hasShape(text)) return null
  const instant = Date.parse(text)
  return Number.isNaN(instant) ? null : instant
}

const shape = 'dddd-dd-ddTdd:dd:dd'

function hasShape(text: string): boolean {
  for (let i = 0; i < shape.length; i++) {
    const c = text.charAt(i)
    if (shape[i] === 'd' ? c < '0' || c > '9' : c !== shape[i]) return false
  }
  let at = shape.length
  if (text[at] === '.')
    do at++
    while (text.charAt(at) >= '0' && text.charAt(at) <= '9')
  return text[at] === 'Z' ? at + 1 === text.length : (text[at] === '+' || text[at] === '-') && at + 6 === text.length
}
