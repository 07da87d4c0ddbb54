import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { signIn } from '@holdfast/sdk'
import { send } from '../support/clients/raw-http.ts'
import { adminPassword, type Kit, startKit } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const paths = ['/v1/admin/audit/export?format=csv', '/v1/audit/export/syslog']
const count = async (kit: Kit) => (await eventsOf(kit, 'audit.export_started')).length

/** Sends a request over a plain socket, and returns everything received until the socket is closed. */
async function raw({ url, adminKey }: Kit, path: string, version: '1.0' | '1.1') {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(
    `GET ${path} HTTP/${version}\r\nhost: x\r\nauthorization: Bearer ${adminKey}\r\nconnection: close\r\n\r\n`,
  )
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  await once(socket, 'close')
  return text
}

test('an export is begun', async (t) => {
  const kit = await startKit(t)

  await t.test('only where its end can be told: not over HTTP/1.0', async () => {
    for (const path of paths) {
      const refused = await raw(kit, path, '1.0')
      assert.match(refused, /^HTTP\/1\.1 400 .*\r\n\r\n\{"error":"bad_request","detail":"this needs HTTP\/1\.1/s)
      assert.doesNotMatch(refused, /content-disposition/i)
    }
    assert.equal(await count(kit), 0)
    for (const path of paths)
      assert.match(await raw(kit, path, '1.1'), /^HTTP\/1\.1 200 .*transfer-encoding: chunked/is)
    assert.equal(await count(kit), 2)
  })

  await t.test('with a session by a page of this site or by the person, not by a page of another', async () => {
    const { cookie } = await signIn({
      baseUrl: kit.publicUrl,
      username: 'admin',
      password: adminPassword,
      dispatcher: kit.dispatcher,
    })
    const before = await count(kit)
    const ask = (path: string, headers: Record<string, string>) =>
      send(kit.url, { path, headers: { cookie, ...headers } })
    for (const path of paths) {
      for (const headers of [
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'cross-site' },
        { origin: 'https://other.test' },
      ] as Record<string, string>[]) {
        const got = await ask(path, headers)
        assert.deepEqual([got.status, got.json.error], [403, 'forbidden'], JSON.stringify(headers))
      }
      assert.equal(await count(kit), before, 'nothing was begun')
    }
    for (const headers of [{}, { 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'same-origin' }] as Record<
      string,
      string
    >[])
      assert.equal((await ask(paths[0]!, headers)).status, 200)
    const withKey = { authorization: `Bearer ${kit.adminKey}`, 'sec-fetch-site': 'cross-site' }
    assert.equal((await send(kit.url, { path: paths[0]!, headers: withKey })).status, 200, 'a key is no cookie')
  })
})
