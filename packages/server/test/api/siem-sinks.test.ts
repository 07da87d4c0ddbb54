import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { changeSiemConnector } from '@holdfast/sdk'
import { Webhook } from 'standardwebhooks'
import { idOf } from '../../src/kernel/ids.ts'
import { runJob, startKit } from '../support/deployment/deployment.ts'
import { tenantOf } from '../support/deployment/separate-tenant.ts'
import { until } from '../support/deployment/wait-until.ts'
import {
  arrive,
  opened,
  type Request,
  startHttp,
  startSyslog,
  toSyslog,
  toWebhook,
} from '../support/providers/siem-receivers.ts'

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`
const verifies = (secret: string, { body, headers }: Request): boolean => {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

test('what goes to receivers over HTTP', async (t) => {
  const deployment = await startKit(t, { config: opened })

  await t.test(
    'a message of syslog has a byte order mark where it is asked for, and is ASCII where it has none',
    async () => {
      const kit = await tenantOf(deployment)
      const sink = await startSyslog(kit)
      let made = 0
      const textOf = async (
        more: Partial<Parameters<typeof toSyslog>[1]>,
        inStore?: (id: string) => Promise<unknown>,
      ) => {
        // The name is in the connector's own creation event, which the test sends.
        const { connector } = await kit.admin.createSiemConnector({
          body: toSyslog(sink.port, { enabled: false, ...more, name: `soc ${made++} Zoë 東京 🗝` }),
        })
        const params = { connector_id: connector.connector_id }
        await inStore?.(connector.connector_id)
        const { bom } = await kit.admin.getSiemConnector({ params })
        assert.equal((await kit.admin.testSiemConnector({ params })).ok, true)
        const text = sink.frames.at(-1)!.replace(/^.*?"\] /s, '')
        return { connector, params, bom, text, isAscii: /^[\0-\x7f]*$/.test(text), hasMark: text.startsWith('\ufeff') }
      }
      /** Stores the connector as an earlier version did. */
      const withoutBom = (connector_id: string) =>
        kit.db.inTenant(kit.tenant, async (tx) => {
          const of = tx.selectFrom('siem_connectors').where('tenant_id', '=', kit.tenant)
          const { destination } = await of
            .select('destination')
            .where('connector_id', '=', idOf('siem_connector', connector_id))
            .executeTakeFirstOrThrow()
          const { bom: _, ...before } = destination
          await tx
            .updateTable('siem_connectors')
            .set({ destination: JSON.stringify(before) })
            .where('tenant_id', '=', kit.tenant)
            .where('connector_id', '=', idOf('siem_connector', connector_id))
            .execute()
        })
      const usual = await textOf({})
      assert.deepEqual([usual.bom, usual.isAscii, usual.hasMark], [false, true, false])
      assert.match(JSON.stringify(JSON.parse(usual.text)), /soc 0 Zoë 東京 🗝/)
      const asked = await textOf({ bom: true })
      assert.deepEqual([asked.bom, asked.isAscii, asked.hasMark], [true, false, true])
      assert.match(asked.text, /Zoë 東京 🗝/)
      const cef = await textOf({ format: 'cef' })
      assert.deepEqual([cef.bom, cef.hasMark], [true, true])
      const bare = await textOf({ format: 'cef', bom: false })
      assert.deepEqual([bare.bom, bare.isAscii, bare.hasMark], [false, false, false])
      // An older connector keeps its behaviour, also when a client that does not know the field updates it.
      const older = await textOf({}, withoutBom)
      assert.deepEqual([older.bom, older.hasMark], [true, true])
      const { delivery: _, bom: _bom, ...known } = await kit.admin.getSiemConnector({ params: older.params })
      assert.equal((await kit.admin.updateSiemConnector({ params: older.params, body: known })).bom, true)
      const changed = await changeSiemConnector(kit.admin, { params: older.params }, { bom: false })
      assert.equal(changed.bom, false)
      assert.equal((await changeSiemConnector(kit.admin, { params: older.params }, { bom: null })).bom, false)
      await assert.rejects(
        kit.admin.createSiemConnector({ body: toWebhook('http://127.0.0.1:9999', { bom: true }) }),
        /bom/,
      )
    },
  )

  await t.test('a secret that is replaced signs beside the new one for a day, or until it is ended', async () => {
    const kit = await tenantOf(deployment)
    const sink = await startHttp(kit, (_, response) => response.end())
    const { connector, secret } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    const { connector_id } = connector
    const params = { connector_id }
    const change = (named: Parameters<typeof changeSiemConnector>[2]) =>
      changeSiemConnector(kit.admin, { params }, named)
    const [a, b, c, d] = [secret!, newSecret(), newSecret(), newSecret()]
    /** The secrets that verify the newest request. */
    const signedBy = async () => {
      assert.equal((await kit.admin.testSiemConnector({ params })).ok, true)
      const last = sink.requests.findLast(({ body }) => body.includes('"test":true'))!
      return [a, b, c, d].map((one) => verifies(one, last))
    }
    const row = () =>
      kit.db.inTenant(kit.tenant, (tx) =>
        tx.selectFrom('siem_connectors').selectAll().where('tenant_id', '=', kit.tenant).executeTakeFirstOrThrow(),
      )
    assert.equal(connector.previous_credential_until, null)
    assert.deepEqual(await signedBy(), [true, false, false, false])

    const { previous_credential_until } = await change({ credential: b })
    const hours = (Date.parse(previous_credential_until!) - Date.now()) / 3_600_000
    assert.ok(hours > 23.9 && hours < 24.1, String(hours))
    assert.deepEqual(await signedBy(), [true, true, false, false])
    // Events already in delivery are signed with both secrets.
    await until(() => sink.requests.some((r) => r.body.includes('siem_connector.updated') && verifies(a, r)), 'a batch')

    // Another change keeps the previous secret; another new secret replaces it.
    await change({ name: 'renamed' })
    assert.deepEqual(await signedBy(), [true, true, false, false])
    await change({ credential: c })
    assert.deepEqual(await signedBy(), [false, true, true, false])

    // The previous secret expires by the database's clock, even if it has not been deleted yet. The version stays.
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx
        .updateTable('siem_connectors')
        .set({ previous_until: new Date(Date.now() - 1000) })
        .where('tenant_id', '=', kit.tenant)
        .execute(),
    )
    assert.deepEqual(await signedBy(), [false, false, true, false])
    assert.notEqual((await row()).previous_credential_jwe, null)
    await runJob(kit.app, 'forget_what_is_over')
    assert.deepEqual([(await row()).previous_credential_jwe, (await row()).previous_until], [null, null])
    assert.equal((await kit.admin.getSiemConnector({ params })).previous_credential_until, null)

    // A compromised secret can be ended at once, with the new one or afterwards.
    await change({ credential: d, keep_previous: false })
    assert.deepEqual(await signedBy(), [false, false, false, true])
    await change({ credential: c })
    assert.deepEqual(await signedBy(), [false, false, true, true])
    await change({ keep_previous: false })
    assert.deepEqual(await signedBy(), [false, false, true, false])
    const { items } = await kit.admin.listAuditEvents({ query: { kind: 'siem_connector.updated' } })
    assert.deepEqual(
      items.slice(0, 2).map((e) => e.details),
      [{ previous_credential: 'ended' }, { credential: 'replaced' }],
    )
    await change({ credential: a })
    await kit.admin.deleteSiemConnector({ params })
    assert.equal((await row()).previous_credential_jwe, null)
  })

  await t.test('OCSF and CEF are sent as JSON to each kind of receiver', async () => {
    const kit = await tenantOf(deployment)
    const hostile = ' "quoted"\n{"kind":"forged"}\n'
    /** The received events, by the path they were sent to. */
    const came = new Map<string, unknown[]>()
    const sink = await startHttp(kit, ({ url, body }, response) => {
      const to = url.split('/')[1] ?? ''
      const parts = to.startsWith('webhook') ? (JSON.parse(body) as Sent).data.events : body.trimEnd().split('\n')
      const events = parts.map((part) =>
        typeof part === 'string' && !part.startsWith('CEF') ? JSON.parse(part) : part,
      )
      const documents = to.startsWith('opensearch') ? events.filter((_, i) => i % 2 === 1) : events
      came.set(to, [...(came.get(to) ?? []), ...documents])
      const answer = to.startsWith('splunk') ? { text: 'Success', code: 0 } : { errors: false }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    })
    const kinds = [
      { kind: 'webhook' },
      { kind: 'splunk_hec', credential: 'token' },
      { kind: 'opensearch', credential: 'key', index: 'audit' },
    ] as const
    const formats = ['ocsf', 'cef'] as const
    for (const { kind, ...more } of kinds)
      for (const format of formats) {
        const name = `${kind}-${format}`
        await kit.admin.createSiemConnector({
          body: { kind, name, format, url: `${sink.url}/${name}`, ...more },
        })
      }
    await arrive(kit, 2, 1, () => hostile)
    const mine = (to: string) => (came.get(to) ?? []).filter((e) => JSON.stringify(e).includes('forged'))
    for (const { kind } of kinds) {
      for (const format of formats) await until(() => mine(`${kind}-${format}`).length === 2, `${kind} ${format}`)
      const [ocsf] = mine(`${kind}-ocsf`) as [Ocsf & { event: Ocsf; '@timestamp': string }]
      const { unmapped, metadata, raw_data, time } = kind === 'splunk_hec' ? ocsf.event : ocsf
      assert.equal(unmapped.operation, `n1${hostile}`)
      assert.equal((JSON.parse(raw_data) as { event_id: string }).event_id, metadata.uid)
      if (kind === 'opensearch') assert.equal(Date.parse(ocsf['@timestamp']), time)
      const [cef] = mine(`${kind}-cef`) as [string | { event?: string; message?: string }]
      const text = typeof cef === 'string' ? cef : (cef.event ?? cef.message ?? '')
      assert.match(text, /^CEF:0\|Holdfast\|.*"operation":"n1/)
      assert.doesNotMatch(text, /\n/)
    }
  })
})

type Sent = { data: { events: unknown[] } }
type Ocsf = { unmapped: { operation: string }; metadata: { uid: string }; raw_data: string; time: number }
