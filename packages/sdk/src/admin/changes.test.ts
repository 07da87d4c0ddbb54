import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../../test/support/scripted-server.ts'
import { ApiError } from '../errors.ts'
import { createAdmin } from './admin.ts'
import { changes } from './changes.ts'
import { readEventStream, type StreamBlock } from './event-stream.ts'

const blocksOf = async (pieces: readonly (string | Uint8Array)[]): Promise<StreamBlock[]> => {
  async function* bytes() {
    for (const piece of pieces) yield typeof piece === 'string' ? new TextEncoder().encode(piece) : piece
  }
  const blocks: StreamBlock[] = []
  for await (const block of readEventStream(bytes())) blocks.push(block)
  return blocks
}
const block = (data: string | undefined, more: Partial<StreamBlock> = {}): StreamBlock => ({
  event: 'message',
  data,
  id: undefined,
  retryMs: undefined,
  ...more,
})

test('a stream is read as the HTML standard has it, however it is cut', async () => {
  const text =
    '\ufeff: comment\nevent: a\ndata: 1\ndata:  2\nid: x\n\ndata\n\ndata\r\rretry: 10\r\n\r\nid\n\nretry: 1x\nother: y\n\ndata: é\n\ndata: lost'
  const wanted = [
    block('1\n 2', { event: 'a', id: 'x' }),
    block(''),
    block(''),
    block(undefined, { retryMs: 10 }),
    block(undefined, { id: '' }),
    block('é'),
  ]
  assert.deepEqual(await blocksOf([text]), wanted)
  const bytes = new TextEncoder().encode(text)
  assert.deepEqual(await blocksOf([...bytes].map((byte) => Uint8Array.of(byte))), wanted)
  const endless = Array.from({ length: 20 }, () => `data: ${'x'.repeat(100_000)}\n`)
  await assert.rejects(blocksOf(endless), /longer than 1 MiB/)
})

const said = (event: string, id: string, data: object) =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`

test('a stream that breaks is opened anew behind the last event, until its end is final', async (t) => {
  const texts = [
    `retry: 1\n\n${said('ready', '1-1', { kinds: ['devices'] })}${said('changed', '2-1', { changes: [] })}:\nid: 3-1\n\n`,
    said('end', '3-1', { reason: 'permissions_changed' }),
    `${said('newer_event', '4-1', {})}${said('end', '4-1', { reason: 'session_ended' })}`,
  ]
  const server = await startServer(t, () => ({
    headers: { 'content-type': 'text/event-stream' },
    text: texts.shift() ?? '',
  }))
  const admin = createAdmin({ baseUrl: server.baseUrl, apiKey: 'hfk_x' })
  const seen: string[] = []
  for await (const { event, id } of changes(admin, { kinds: ['devices', 'groups'], random: () => 0 }))
    seen.push(`${event} ${id}`)
  assert.deepEqual(seen, ['ready 1-1', 'changed 2-1', 'end 3-1', 'end 4-1'])
  assert.deepEqual(
    server.asked.map(({ headers, search }) => [headers['last-event-id'], search]),
    [undefined, '3-1', '3-1'].map((id) => [id, '?kinds=devices%2Cgroups']),
  )
})

test('who is refused is told so; who ends it is not asked again', async (t) => {
  const server = await startServer(t, () => ({ status: 401, body: { error: 'unauthorized', detail: 'no' } }))
  const admin = createAdmin({ baseUrl: server.baseUrl, apiKey: 'hfk_x' })
  await assert.rejects(changes(admin).next(), (e) => e instanceof ApiError && e.status === 401)
  await assert.rejects(changes(admin, { signal: AbortSignal.abort() }).next(), { name: 'AbortError' })
  assert.equal(server.asked.length, 1)
})
