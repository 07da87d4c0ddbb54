import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { startShell } from '../../test/support/shell.ts'

const said = (event: string, id: string, data: object) =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
const text = [
  said('ready', '1-1', { kinds: ['devices'] }),
  said('changed', '2-1', { changes: [{ kind: 'devices', ids: ['dev_1', 'dev_2'], many: false }] }),
  said('alert', '2-1', { raised: ['ntf_1'], ended: [], many: false }),
  said('gateway', '2-1', { ids: [], many: true }),
  said('audit', '2-9', { seq: 9 }),
  said('end', '2-9', { reason: 'key_ended' }),
].join('')

test('changes are shown a line each, or as they come with --json', async (t) => {
  const asked: unknown[] = []
  const server = createServer((request, response) => {
    asked.push([request.url, request.headers['last-event-id']])
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const shown = await run(['watch', '--kind', 'devices', 'gateways'])
  assert.equal(shown.code, 0, shown.err)
  assert.equal(shown.out, 'devices  dev_1 dev_2\nalert raised  ntf_1\ngateway  many\naudit  9\nend  key_ended\n')
  const json = await run(['watch', '--json', '--after', '1-1'])
  const events = json.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(events.at(-2), { event: 'audit', id: '2-9', data: { seq: 9 } })
  assert.deepEqual(asked, [
    ['/v1/admin/stream?kinds=devices%2Cgateways', undefined],
    ['/v1/admin/stream', '1-1'],
  ])
  const wrong = await run(['watch', '--kind', 'devices', 'nonsense'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.err, /nonsense.*is invalid.*devices/s)
})
