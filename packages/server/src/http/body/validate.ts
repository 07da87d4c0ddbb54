import { agoPattern } from '@holdfast/contract/schema'
import { versionPattern } from '@holdfast/contract/semver'
import { isX25519Key } from '@holdfast/crypto'
import { IsArray, IsObject, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Set as setFormat } from 'typebox/format'
import { AppError, type FieldError } from '../../kernel/app-error.ts'
import { isDateTime } from '../../kernel/date-time.ts'
import { createSlices, inSlices, type Sliced, type Slices } from '../../kernel/time-slice.ts'

setFormat('date-time', isDateTime)
setFormat('x25519-public-key', (text) => isX25519Key(Buffer.from(text, 'base64')))

type Validator = (value: unknown) => void
type SchemaError = {
  keyword: string
  instancePath: string
  params: {
    additionalProperties?: string[]
    requiredProperties?: string[]
    allowedValues?: unknown[]
    format?: string
    pattern?: unknown
  }
  message: string
}

const compiledOf = new WeakMap<TSchema, ReturnType<typeof Compile>>()
/** Compiles a schema at its first use, once per process. */
function compile(schema: TSchema): ReturnType<typeof Compile> {
  const known = compiledOf.get(schema) ?? Compile(schema)
  compiledOf.set(schema, known)
  return known
}

/** Creates a check that throws 422 with every field that breaks the schema, unknown fields by name. */
export function createValidator(schema: TSchema): Validator {
  let compiled: ReturnType<typeof Compile> | undefined
  return (value) => {
    compiled ??= compile(schema)
    if (!compiled.Check(value)) refuse(compiled.Errors(value) as SchemaError[])
  }
}

/** Number of list items checked in one step. */
const checkedAtOnce = 100
/** Creates the same check for a long value. Other work runs between groups of list items. */
export function createLongValidator(schema: TSchema): (value: unknown, slices?: Slices) => Promise<void> {
  const items = IsObject(schema)
    ? Object.entries(schema.properties).flatMap(([name, list]) => (IsArray(list) ? [{ name, of: list.items }] : []))
    : []
  const around = IsObject(schema)
    ? {
        ...schema,
        properties: {
          ...schema.properties,
          ...Object.fromEntries(items.map(({ name }) => [name, { ...schema.properties[name], items: Type.Unknown() }])),
        },
      }
    : schema
  const validateAround = createValidator(around)
  function* check(value: unknown): Sliced<void> {
    validateAround(value)
    for (const { name, of } of items) {
      const compiled = compile(of)
      const list = (value as Record<string, unknown>)[name] as readonly unknown[] | undefined
      for (const [i, item] of list?.entries() ?? []) {
        if (!compiled.Check(item)) {
          const errors = compiled.Errors(item) as SchemaError[]
          refuse(errors.map((e) => ({ ...e, instancePath: `/${name}/${i}${e.instancePath}` })))
        }
        if (i % checkedAtOnce === 0) yield
      }
    }
  }
  return (value, slices = createSlices()) => inSlices(check(value), slices)
}

function refuse(found: SchemaError[]): never {
  const errors = fieldErrors(found)
  const first = errors[0] ?? { field: '', message: 'does not match the schema' }
  const detail = first.field ? `${first.field}: ${first.message}` : `the body ${first.message}`
  throw new AppError('validation_error', detail, { errors })
}

const formatMessages: Readonly<Record<string, string>> = {
  'x25519-public-key': 'must be a Curve25519 public key as `wg pubkey` prints it; this value is not a valid key',
}
/** Messages for patterns that people can't read. */
const patternMessages: Readonly<Record<string, string>> = {
  [agoPattern]: 'must be a number of seconds, or an RFC 3339 time such as 2026-01-31T09:30:00Z',
  [versionPattern]: 'must be a version such as 1.4.0 or 1.5.0-rc.1 (Semantic Versioning 2.0.0)',
}
function fieldErrors(errors: SchemaError[]): FieldError[] {
  const out = new Map<string, string>()
  const add = (field: string, message: string) => {
    if (!out.has(field)) out.set(field, message)
  }
  for (const e of errors) {
    const at = fieldOf(e.instancePath)
    const under = (name: string) => (at ? `${at}.${name}` : name)
    if (e.keyword === 'additionalProperties')
      for (const name of e.params.additionalProperties ?? []) add(under(name), 'is not a known field')
    else if (e.keyword === 'required')
      for (const name of e.params.requiredProperties ?? []) add(under(name), 'is required')
    else if (e.keyword === 'format') add(at, formatMessages[e.params.format ?? ''] ?? e.message)
    else if (e.keyword === 'pattern') add(at, patternMessages[String(e.params.pattern)] ?? e.message)
    else if (e.keyword === 'enum') add(at, `must be one of ${(e.params.allowedValues ?? []).join(', ')}`)
    // Skips the parts of an unknown field and of a union; the message about the whole suffices.
    else if (e.keyword !== 'boolean' && !(e.keyword === 'type' && e.message.includes('null'))) add(at, e.message)
  }
  return [...out].slice(0, 50).map(([field, message]) => ({ field, message }))
}

/** JSON Pointer → field path as in code: /device/tags/0 → device.tags[0]. */
const fieldOf = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path ? `${path}.${part}` : part), '')
