import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMediaType } from './media-type.ts'

test('a media type is read with its parameters and its charset, quoted or not', () => {
  for (const [field, type, charset] of [
    ['application/json', 'application/json', undefined],
    ['Application/JSON;charset=UTF-8', 'application/json', 'utf-8'],
    ['application/json; charset="utf-8"', 'application/json', 'utf-8'],
    ['application/scim+json; charset="UTF-8"', 'application/scim+json', 'utf-8'],
    ['application/json;odata=verbose', 'application/json', undefined],
    ['application/json ; odata.metadata=minimal ;\tcharset=utf-8;', 'application/json', 'utf-8'],
    ['application/json; note="a; charset=utf-16\\" b"', 'application/json', undefined],
    ['application/json; charset="\\u\\t\\f-8"', 'application/json', 'utf-8'],
    ['application/json; charset=utf-8; CHARSET=UTF-8', 'application/json', 'utf-8'],
    ['application/json; charset=utf-16', 'application/json', 'utf-16'],
    ['application/json\t', 'application/json', undefined],
  ] as const)
    assert.deepEqual(readMediaType(field), { type, charset }, field)
})

test('a malformed media type, or one with two charsets, is refused; a long one in linear time', () => {
  for (const field of [
    ...[undefined, '', 'json', '/', 'application/', 'application/json, text/plain', 'application/json charset=utf-8'],
    ...['application/json; charset', 'application/json; charset=', 'application/json; charset="utf-8', 'a/b; =c'],
    ...['application/json; charset=utf-8; charset=utf-16', 'application/json; a = b', `a/b; c="${'\\\\'.repeat(8000)}`],
    `a/b${';'.repeat(16_000)},`,
  ])
    assert.equal(readMediaType(field), undefined, field?.slice(0, 80))
})
