import { isDeepStrictEqual } from 'node:util'
import type { Operation } from '@holdfast/contract'

/** A field that differs: what it is, and what the file says. */
type Field = { field: string; from: unknown; to: unknown }
/** Something that is not as the file says, and what makes it so. */
export type Step = {
  /** What it is: `security`, `group engineers`. */
  thing: string
  action: 'create' | 'update' | 'publish'
  fields: readonly Field[]
  /** The operation that makes it so, and what is sent with it. */
  operation: Operation
  body: object
  apply: () => Promise<unknown>
}

/** The fields named whose values are others. */
export function fieldsOf(is: object, named: object, path = ''): Field[] {
  const current = new Map<string, unknown>(Object.entries(is))
  return Object.entries(named)
    .filter(([name, to]) => !isDeepStrictEqual(current.get(name), to))
    .map(([name, to]) => ({ field: path + name, from: current.get(name) ?? null, to }))
}

/** The same of two levels of objects. */
export const fieldsOfSections = (is: object, named: Readonly<Record<string, object>>): Field[] => {
  const current = new Map<string, object>(Object.entries(is))
  return Object.entries(named).flatMap(([section, fields]) =>
    fieldsOf(current.get(section) ?? {}, fields, `${section}.`),
  )
}
