import { reject } from '../errors.ts'
import { isObject } from '../verify/signed.ts'

/** A step of a JSON Patch (RFC 6902), limited to the operations that set or remove a value. */
export type Step = { op: 'add' | 'replace' | 'remove'; path: string; value?: unknown }

/** Returns a copy of the value with the steps applied in order. Throws `malformed` if a path does not exist. */
export function applyPatch(value: unknown, steps: readonly Step[]): unknown {
  const holder: Record<string, unknown> = { whole: structuredClone(value) }
  for (const { op, path, value: given } of steps) {
    const names = ['whole', ...path.split('/').slice(1).map(unescaped)]
    const last = names.pop() ?? ''
    let at: Record<string, unknown> = holder
    for (const name of names) at = membersOf(at, name)
    const isThere = Object.hasOwn(at, last)
    // Lists are replaced as a whole, or one item is replaced.
    const isPlace = Array.isArray(at) ? op === 'replace' && /^\d+$/.test(last) && isThere : (op === 'add') !== isThere
    if (!isPlace || last === '__proto__') reject('malformed', `a change has an invalid path: ${path}`)
    if (op === 'remove') delete at[last]
    else at[last] = structuredClone(given)
  }
  return holder.whole
}

function membersOf(at: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = Object.hasOwn(at, name) ? at[name] : undefined
  if (typeof value !== 'object' || value === null) reject('malformed', `a change is not allowed below ${name}`)
  return value as Record<string, unknown>
}

const unescaped = (name: string): string => name.replaceAll('~1', '/').replaceAll('~0', '~')

/** Parses signed steps. Throws `malformed`. */
export const stepsOf = (value: unknown): Step[] =>
  (Array.isArray(value) ? value : reject('malformed', 'a change is not a list')).map((step: unknown) => {
    if (!isObject(step) || typeof step.path !== 'string' || !/^(?:\/.*)?$/s.test(step.path))
      reject('malformed', 'a change is not a list of steps')
    const { op, path, value } = step
    if (op !== 'add' && op !== 'replace' && op !== 'remove') reject('malformed', 'a change has an unknown kind')
    return { op, path: path as string, value }
  })
