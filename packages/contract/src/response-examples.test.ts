import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { type Endpoint, operations } from './index.ts'
import { openapi } from './openapi.ts'
import { exemplaryStatuses, statusesOf } from './openapi-operation.ts'

type Content = Record<string, { example?: unknown }>
type Described = { responses: Record<string, { content?: Content }> }
const { paths } = openapi()
const described = ({ path, method }: Endpoint): Described =>
  (paths[path] as Record<string, Described>)[method.toLowerCase()]!
const exampleOf = (e: Endpoint, status: number): unknown => {
  const [content] = Object.values(described(e).responses[status]?.content ?? {})
  return content?.example
}
const all = operations as readonly (readonly [string, Endpoint])[]
const exemplary = all.flatMap(([name, e]) => exemplaryStatuses(e).map((status) => ({ name, e, status })))

test('every success response with a JSON body has an example of its schema', () => {
  const wrong = exemplary.flatMap(({ name, e, status }) => {
    const example = exampleOf(e, status)
    if (example === undefined) return [`${name} ${status}: no example`]
    return Value.Check(e.response, example)
      ? []
      : [`${name} ${status}: ${JSON.stringify(Value.Errors(e.response, example))}`]
  })
  assert.deepEqual(wrong, [])
  assert.ok(exemplary.length > 200)
})

test('only streams, downloads and answers without a body have no example', () => {
  const without = all.filter(([, e]) => exemplaryStatuses(e).length === 0)
  assert.deepEqual(
    without.filter(([, e]) => !e.stream && !e.download && e.status !== 204).map(([name]) => name),
    [],
  )
})

test('an example of a list has an item', () => {
  const empty = exemplary.flatMap(({ name, e, status }) => {
    const { items, Resources } = exampleOf(e, status) as { items?: unknown[]; Resources?: unknown[] }
    return (items ?? Resources)?.length === 0 ? [name] : []
  })
  assert.deepEqual(empty, [])
})

/** Credentials of this server and of webhooks, seeds, JSON Web Tokens with a real payload, and private keys. */
const secrets = /hf[a-z]_\w|whsec_\w|secret=\w|eyJ[\w-]+\.eyJ|PRIVATE KEY-----\n[^…]|"(?:d|k|p|q)":"\w{20}/g

test('an example contains no secret', () => {
  assert.deepEqual(
    exemplary.flatMap(({ e, status }) => JSON.stringify(exampleOf(e, status)).match(secrets) ?? []),
    [],
  )
  assert.ok(secrets.test('{"secret":"hfk_AbC"}'), 'it finds one')
})

test('the responses of an operation are its declared statuses', () => {
  for (const [name, e] of all)
    assert.deepEqual([name, Object.keys(described(e).responses)], [name, statusesOf(e).map(String).sort()])
})
