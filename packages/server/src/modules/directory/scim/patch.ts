import type { ScimPatch } from '@holdfast/contract/scim-shapes'
import { attributeOf, type Kind } from './attributes.ts'
import { failScim } from './errors.ts'

type Op = 'add' | 'replace' | 'remove'
type Operation = { op: Op; path: string; value: unknown }

const ops = new Map<string, Op>([
  ['add', 'add'],
  ['replace', 'replace'],
  ['remove', 'remove'],
])
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The operations of a PATCH, each with a path. An operation without a path, whose value is an object, is split by
 * member names, which may be paths themselves. Read-only attributes are ignored there, since clients send them along.
 */
export function* operationsOf(kind: Kind, patch: ScimPatch): Generator<Operation> {
  const list = member(patch, 'operations')
  if (!Array.isArray(list) || list.length === 0) return failScim('invalidSyntax', 'Operations: must be a list')
  for (const [i, each] of list.entries()) {
    if (!isObject(each)) return failScim('invalidSyntax', `Operations[${i}]: must be an object`)
    const opName = member(each, 'op')
    const op = typeof opName === 'string' ? ops.get(opName.toLowerCase()) : undefined
    if (!op) return failScim('invalidSyntax', `Operations[${i}].op: must be add, replace or remove`)
    const path = member(each, 'path')
    const value = member(each, 'value')
    if (typeof path === 'string' && path.trim() !== '') yield { op, path, value }
    else if (path !== undefined && path !== null && path !== '')
      return failScim('invalidPath', `Operations[${i}].path: must be a string`)
    else if (op === 'remove') return failScim('noTarget', `Operations[${i}]: remove needs a path`)
    else if (!isObject(value))
      return failScim('invalidValue', `Operations[${i}].value: must be an object if there is no path`)
    else
      for (const [name, its] of Object.entries(value))
        if (attributeOf(kind, name)?.is !== 'readOnly') yield { op, path: name, value: its }
  }
}

/** Names are case-insensitive. */
function member(object: object, name: string): unknown {
  const found = Object.entries(object).find(([written]) => written.toLowerCase() === name)
  return found?.[1]
}
