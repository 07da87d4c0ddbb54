import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { holdOf } from './answer/representation.ts'

test('a long poll waits as long as requested, up to the limit of the deployment', () => {
  const held = (prefer: string, longest: number, headers: Record<string, string> = {}) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', httpVersion: '1.1' })
    Object.assign(request.headers, { prefer, ...headers })
    return holdOf(request, new ServerResponse(request), longest)?.seconds
  }
  assert.equal(held('wait=240', 300), 240)
  assert.equal(held('wait=1000', 300), 300)
  assert.equal(held('wait=240', 50), 50)
  assert.equal(held('wait=20', 50), 20)
  assert.equal(held('wait=240', 300, { connection: 'close' }), 55)
  assert.equal(held('wait=240', 50, { connection: 'close' }), 50)
  assert.equal(held('wait=0', 50), undefined)
  assert.equal(held('respond-async', 50), undefined)
})
