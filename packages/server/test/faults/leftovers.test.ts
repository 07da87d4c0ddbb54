import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createProof, generateKey } from '@holdfast/crypto'
import pg from 'pg'
import { parseConfig } from '../../src/config/config.ts'
import { loadSecrets } from '../../src/config/secrets.ts'
import { connectFeed } from '../../src/replication/feed-connection.ts'
import { bearer, call, enrollRaw, operation, type RawDevice } from '../support/actors/all-callers.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { everyEvent } from '../support/domain/audit-events.ts'

test('small things that were wrong once', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  const one = async <T>(text: string) => Object.values((await owner.query(text)).rows[0])[0] as T

  await t.test(
    'renewing with the key of another device is refused, twenty at a time, and one wins a new one',
    async () => {
      const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
      const devices = await times(10, (i) => enrollRaw(kit, token, `device ${i}`))
      const renewTo = ({ credential, caller }: RawDevice, key: (typeof devices)[0]['key'], i = 0) => {
        const renew = operation('renewCredential')
        const url = kit.publicUrl + renew.path
        const proof = createProof(key, { method: 'POST', url, accessToken: credential, now: new Date() })
        const { d: _, ...new_public_key } = key
        const on = { ...kit, ...kit.replicas[i % 2]! }
        return call(on, renew, (m, u) => ({ ...caller(m, u), 'dpop-new-key': proof }), { new_public_key })
      }
      const refused = await renewTo(devices[0]!, devices[1]!.key)
      assert.deepEqual(
        [refused.status, (refused.json.errors as { field: string }[])[0]?.field],
        [422, 'new_public_key'],
        refused.text,
      )
      const wanted = generateKey('ES256').privateJwk
      const statuses = (await times(10, (i) => renewTo(devices[i]!, wanted, i))).map((a) => a.status).sort()
      assert.deepEqual(statuses, [200, ...Array.from({ length: 9 }, () => 422)])
    },
  )

  await t.test('an unknown route is answered once the use of the key is on record', async () => {
    for (let i = 0; i < 10; i++) {
      const { status, headers } = await call(kit, { method: 'GET', path: `/v1/nowhere/${i}` }, bearer(kit.adminKey))
      assert.equal(status, 404)
      const id = String(headers['x-request-id'])
      const used = await one<string>(
        `select count(*) from ${everyEvent} as e where kind = 'api_key.used' and request_id = '${id}'`,
      )
      assert.equal(used, '1')
    }
  })

  await t.test('renaming a group touches no device', async () => {
    const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
    const { group } = await kit.admin.changeGroup({
      body: { operation: 'create', group: { name: 'before', members: [user.user_id] } },
    })
    const seq = () => one<string>(`select seq from tenant_epochs where tenant_id = '${kit.tenant}'`)
    const before = await seq()
    const renamed = await kit.admin.changeGroup({
      body: { operation: 'update', group_id: group.group_id, group: { name: 'after' } },
    })
    assert.deepEqual([renamed.changed, await seq()], [true, before])
  })

  await t.test('a feed whose LISTEN fails leaves no connection', async () => {
    const feeds = () =>
      one<string>(
        `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'holdfast feed'`,
      )
    const before = await feeds()
    const { query } = pg.Client.prototype
    pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
      // Fails as on a standby.
      if (String(given[0]) === 'listen holdfast') return Reflect.apply(query, this, ['select 1 / 0'])
      return Reflect.apply(query, this, given)
    } as typeof query
    try {
      await times(20, () =>
        assert.rejects(
          connectFeed(kit.databaseUrl, () => {}),
          /division by zero/,
        ),
      )
    } finally {
      pg.Client.prototype.query = query
    }
    for (let i = 0; (await feeds()) !== before; i++) {
      assert.ok(i < 100, `${await feeds()} connections, ${before} before`)
      await delay(20)
    }
  })
  await owner.end()
})

test('twenty first starts at once have one master key, which is never there in part', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-secrets-'))
  try {
    const config = parseConfig({ HOLDFAST_DATA_DIR: folder })
    let isOver = false
    const lengths = new Set<number>()
    const watching = (async () => {
      while (!isOver) {
        for (const name of readdirSync(folder))
          if (name === 'master.key') lengths.add(readFileSync(config.masterKeyFile).length)
        await delay(0)
      }
    })()
    const all = await times(20, () => loadSecrets({}, config))
    isOver = true
    await watching
    assert.equal(new Set(all.map((s) => s.masterKeys[0].pepper.export().toString('hex'))).size, 1)
    assert.deepEqual([...lengths], [45])
    assert.deepEqual(readdirSync(folder).sort(), ['gateway-service.secret', 'master.key'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
