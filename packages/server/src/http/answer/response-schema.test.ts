import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@holdfast/contract'
import { Closed, Nullable, OneOf, Time } from '@holdfast/contract/schema'
import Fastify from 'fastify'
import { Type } from 'typebox'
import { serializable } from './response-schema.ts'

const Thing = Closed({
  name: Nullable(Type.String()),
  at: Nullable(Time),
  kind: Nullable(OneOf(['a', 'b'])),
  count: Nullable(Type.Integer()),
  tags: Nullable(Type.Array(Nullable(Type.String()))),
  part: Nullable(Closed({ inner: Nullable(Type.Boolean()) })),
  either: Type.Union([Type.String(), Type.Number()]),
})
const things = [
  { name: null, at: null, kind: null, count: null, tags: null, part: null, either: 1 },
  {
    name: 'ü"\\',
    at: '2026-01-02T03:04:05.678Z',
    kind: 'b',
    count: 0,
    tags: ['x', null],
    part: { inner: null },
    either: 'text',
    secret: 'is dropped',
  },
]

test('nullable values are serialized as before', async () => {
  const http = Fastify()
  http.get('/plain', { schema: { response: { 200: Type.Array(Thing) } } }, () => things)
  http.get('/nullable', { schema: { response: { 200: serializable(Type.Array(Thing)) as object } } }, () => things)
  const [plain, nullable] = await Promise.all(['/plain', '/nullable'].map((url) => http.inject(url)))
  assert.equal(nullable!.statusCode, 200, nullable!.body)
  assert.equal(nullable!.body, plain!.body)
  await http.close()
})

test('unknown fields are dropped from nullable objects too', async () => {
  const http = Fastify()
  const schema = serializable(Thing) as object
  const given = { ...things[1], part: { inner: true, secret: 'is not for anyone' } }
  http.get('/', { schema: { response: { 200: schema } } }, () => given)
  const { json, body } = await http.inject('/')
  assert.deepEqual(json().part, { inner: true })
  assert.doesNotMatch(body, /secret/)
  await http.close()
})

test('no response schema keeps a union with null', () => {
  const left = operations.filter(([, { response }]) =>
    /"anyOf":.*\{"type":"null"\}/.test(JSON.stringify(serializable(response))),
  )
  assert.deepEqual(
    left.map(([name]) => name),
    [],
  )
})
