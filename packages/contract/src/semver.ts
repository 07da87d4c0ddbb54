import { Type } from 'typebox'

/** Numbers of at most nine digits, and no build metadata, which has no precedence (Semantic Versioning 2.0.0 §10). */
const number = '(?:0|[1-9]\\d{0,8})'
const identifier = '(?:0|[1-9]\\d{0,8}|\\d{0,8}[A-Za-z-][0-9A-Za-z-]{0,20})'
export const versionPattern = `^${number}\\.${number}\\.${number}(?:-${identifier}(?:\\.${identifier}){0,4})?$`

export const Version = Type.String({
  title: 'Version',
  pattern: versionPattern,
  maxLength: 64,
  description: 'Semantic Versioning 2.0.0, without build metadata',
  examples: ['1.4.0'],
})

/** Compares by precedence (§11): negative if `a` comes before `b`, zero if they are equal. Both must be versions. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)]
  for (const [i, core] of left.core.entries()) if (core !== right.core[i]) return core - right.core[i]!
  // A release comes after its pre-releases.
  if (left.tail.length === 0 || right.tail.length === 0) return right.tail.length - left.tail.length
  for (const [i, identifier] of left.tail.entries()) {
    const other = right.tail[i]
    if (other === undefined) return 1
    if (identifier !== other) return compareIdentifiers(identifier, other)
  }
  return left.tail.length - right.tail.length
}

function partsOf(version: string): { core: number[]; tail: string[] } {
  const dash = version.indexOf('-')
  const [core, tail] = dash < 0 ? [version, undefined] : [version.slice(0, dash), version.slice(dash + 1)]
  return { core: core.split('.').map(Number), tail: tail?.split('.') ?? [] }
}

const isNumeric = (identifier: string) => /^\d+$/.test(identifier)
function compareIdentifiers(a: string, b: string): number {
  if (isNumeric(a) && isNumeric(b)) return Number(a) - Number(b)
  if (isNumeric(a) !== isNumeric(b)) return isNumeric(a) ? -1 : 1
  return a < b ? -1 : 1
}
