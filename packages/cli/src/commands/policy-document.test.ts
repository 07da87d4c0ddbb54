import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { Cli } from '../cli.ts'
import { readDocument } from './policy-document.ts'

const read = (text: string) => readDocument({ input: Readable.from([text]) } as unknown as Cli, '-')

test('a document with a name twice in one object is refused, because one value would be lost', async () => {
  for (const [text, name] of [
    ['{"rules":[],\n"rules" : [1]}', 'the name "rules" (line 2)'],
    ['{"a":[{"b":1},{"b":{"c":1,\n\n"\\u0063":2}}]}', 'the name "c" (line 3)'],
    ['{"a":{"x":1},"b":{},"a":null}', 'the name "a" (line 1)'],
  ] as const)
    await assert.rejects(read(text), { message: `stdin has ${name} twice in one object. Keep one of them.` })
})

test('a byte order mark is no part of the document', async () => {
  assert.deepEqual(await read('\ufeff{"rules":[]}'), { rules: [] })
})

test('equal names of several objects, and texts that look like names, are read', async () => {
  for (const text of [
    '{"a":{"a":[{"a":1},{"a":2}]},"b":"\\"b\\": {"}',
    '{"":1,"a":["a","a"],"c":"[{}]","toString":"\\\\"}',
    JSON.stringify({ rules: Array.from({ length: 5_000 }, (_, i) => ({ id: `r${i}`, to: ['*'], note: '}"{' })) }),
  ])
    assert.deepEqual(await read(text), JSON.parse(text))
})
