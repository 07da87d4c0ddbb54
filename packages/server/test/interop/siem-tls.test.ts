import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { changeSiemConnector } from '@holdfast/sdk'
import { startKit } from '../support/deployment/deployment.ts'
import {
  arrive,
  numbersIn,
  oneTo,
  opened,
  startSyslog,
  toSyslog,
  untilCame,
} from '../support/providers/siem-receivers.ts'
import { certificateIn } from './syslog-receivers.ts'
import { without } from './tools.ts'

async function makeCertificate(t: TestContext, name: string) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-siem-tls-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const cert = await certificateIn(folder, name)
  return { cert, key: readFileSync(join(folder, 'server.key'), 'utf8') }
}

test('syslog over TLS goes to no one with a certificate of another authority or another name', {
  skip: without('openssl'),
}, async (t) => {
  const kit = await startKit(t, { config: opened })
  const [own, stranger, other] = await Promise.all(
    ['localhost', 'localhost', 'syslog.example'].map((name) => makeCertificate(t, name)),
  )
  const sink = await startSyslog(kit, { tls: own! })
  const named = await startSyslog(kit, { tls: other! })
  const create = async (name: string, port: number, ca: string | null, server_name: string | null = null) => {
    const tls = { ca_pem: ca, server_name }
    const body = toSyslog(port, { kind: 'syslog_tls', name, host: 'localhost', enabled: false, tls })
    return { connector_id: (await kit.admin.createSiemConnector({ body })).connector.connector_id }
  }
  const answerOf = async (params: { connector_id: string }) => {
    const { ok, answer } = await kit.admin.testSiemConnector({ params })
    return ok || answer
  }
  const failed = (code: string) => `The TLS connection failed (${code}).`
  const selfSigned = failed('DEPTH_ZERO_SELF_SIGNED_CERT')
  assert.equal(await answerOf(await create('public authorities', sink.port, null)), selfSigned)
  assert.equal(await answerOf(await create('another authority', sink.port, stranger!.cert)), selfSigned)
  const wrongName = failed('ERR_TLS_CERT_ALTNAME_INVALID')
  const params = await create('another name', named.port, other!.cert)
  assert.equal(await answerOf(params), wrongName)
  assert.equal(await answerOf(await create('not its name', sink.port, own!.cert, 'syslog.example')), wrongName)
  assert.deepEqual([sink.frames, named.frames], [[], []])

  // Recorded events wait until the certificate has the expected name.
  assert.equal(await answerOf(await create('own', sink.port, own!.cert)), true)
  await arrive(kit, 3)
  await changeSiemConnector(kit.admin, { params }, { enabled: true, tls: { server_name: 'syslog.example' } })
  await untilCame(named.events, 3)
  assert.deepEqual(numbersIn(named.events()), oneTo(3))
})
