import { isDeepStrictEqual } from 'node:util'
import type { Operation } from '@holdfast/contract'

/** A differing field, with its present value and the file's. */
type Field = { field: string; from: unknown; to: unknown }
/** A difference between the configuration and the file, with the change that removes it. */
export type Step = {
  /** Name of the changed thing: `security`, `group engineers`. */
  thing: string
  action: 'create' | 'update' | 'publish'
  fields: readonly Field[]
  /** The operation of the change, and its body. */
  operation: Operation
  body: object
  apply: () => Promise<unknown>
}

/** Returns the named fields with other values. */
export function fieldsOf(is: object, named: object, path = ''): Field[] {
  const current = new Map<string, unknown>(Object.entries(is))
  return Object.entries(named)
    .filter(([name, to]) => !isDeepStrictEqual(current.get(name), to))
    .map(([name, to]) => ({ field: path + name, from: current.get(name) ?? null, to }))
}

/** The same for two levels of objects. */
export const fieldsOfSections = (is: object, named: Readonly<Record<string, object>>): Field[] => {
  const current = new Map<string, object>(Object.entries(is))
  return Object.entries(named).flatMap(([section, fields]) =>
    fieldsOf(current.get(section) ?? {}, fields, `${section}.`),
  )
}
