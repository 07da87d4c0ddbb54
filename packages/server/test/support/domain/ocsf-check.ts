import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { type Attribute, objects, type Shape, schemaClasses } from './ocsf-schema.ts'

export type Ocsf = Record<string, unknown> & { class_uid: number; activity_id: number; type_uid: number }

const isWhole = (value: unknown) => Number.isSafeInteger(value)
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
const values: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  email: (value) => typeof value === 'string' && value.includes('@'),
  ip: (value) => typeof value === 'string' && isIP(value) !== 0,
  boolean: (value) => typeof value === 'boolean',
  integer: isWhole,
  long: isWhole,
  // Milliseconds: rejects seconds and text.
  timestamp: (value) => isWhole(value) && (value as number) > 1e12,
  json: isObject,
}

/** Throws if an event violates the schema of its class. */
export function requireOcsf(event: Ocsf): void {
  requireShape(event, schemaClasses[event.class_uid] ?? assert.fail(`class ${event.class_uid}`), `${event.class_uid}`)
  assert.equal(event.type_uid, event.class_uid * 100 + event.activity_id)
  if ('type_name' in event) assert.equal(event.type_name, `${event.class_name}: ${event.activity_name}`)
}

function requireShape(value: Record<string, unknown>, { attributes, atLeastOne }: Shape, at: string): void {
  for (const [name, attribute] of Object.entries(attributes))
    if (attribute.isRequired) assert.ok(name in value, `${at}.${name} is required`)
  if (atLeastOne)
    assert.ok(
      atLeastOne.some((name) => name in value),
      `${at} needs one of ${atLeastOne.join(', ')}`,
    )
  for (const [name, given] of Object.entries(value)) {
    const attribute = attributes[name] ?? assert.fail(`${at}.${name} is unknown`)
    assert.equal(Array.isArray(given), attribute.isArray, `${at}.${name}: whether it is a list`)
    for (const one of attribute.isArray ? (given as unknown[]) : [given]) requireValue(one, attribute, `${at}.${name}`)
    requireCaption(value, given, attribute, `${at}.${name}`)
  }
}

function requireValue(value: unknown, { type }: Attribute, at: string): void {
  const fits = values[type] ?? isObject
  assert.ok(fits(value), `${at}: ${JSON.stringify(value)} is no ${type}`)
  if (values[type]) return
  requireShape(value as Record<string, unknown>, objects[type] ?? assert.fail(`object ${type}`), at)
}

/** A number's caption stands in its sibling field. For 99 the sibling must hold the source's own value. */
function requireCaption(
  beside: Record<string, unknown>,
  given: unknown,
  { captions, sibling }: Attribute,
  at: string,
): void {
  if (!captions || !sibling) return
  const caption = captions[given as number] ?? assert.fail(`${at}: ${JSON.stringify(given)} is none of its numbers`)
  const said = beside[sibling]
  if (given === 99) assert.ok(typeof said === 'string' && said !== '', `${at}: 99 says nothing in ${sibling}`)
  else if (said !== undefined) assert.equal(said, caption, `${at}: the caption in ${sibling}`)
}
