import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { generateKey } from '@holdfast/crypto'
import { sql } from 'kysely'
import pg from 'pg'
import type { Tx } from '../../src/db/database.ts'
import { decodeId } from '../../src/kernel/ids.ts'
import { addressCapacity } from '../../src/modules/devices/index.ts'
import { call, deviceCaller, enrollRaw, operation, type Raw, send } from '../support/actors/all-callers.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

/** Concurrent enrollments on all replicas in turn, each with the given token and by default a new key. */
const enrollMany = (
  kit: Kit,
  n: number,
  tokenOf: (i: number) => string,
  keyOf = () => generateKey('ES256').privateJwk,
) =>
  times(n, (i) =>
    call(
      { ...kit, ...kit.replicas[i % kit.replicas.length]! },
      operation('enroll'),
      deviceCaller(tokenOf(i), keyOf()),
      { device: { name: `laptop-${i}`, platform: 'linux' } },
    ),
  )
const countOf = (answers: Raw[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
const devicesOf = (kit: Kit) =>
  kit.db.inTenant(kit.tenant, (tx) =>
    tx.selectFrom('devices').select(['device_id', 'name', 'address_number', 'token_id']).execute(),
  )
const usesOf = async (kit: Kit, token: { token_id: string }) =>
  (await kit.admin.getToken({ params: { token_id: token.token_id } })).uses

/** The deployment as one of its tenants, in which no other device enrolls. */
const withTenant = async (kit: Kit): Promise<Kit> => {
  const tenant = await kit.newTenant()
  return { ...kit, tenant, admin: await kit.as('tenant_admin', tenant) }
}

test('enrollments at once, each rush in a tenant of its own', async (t) => {
  const shared = await startKit(t, { replicas: 2 })

  await t.test(
    'forty enrollments at once on two replicas: each its device, its address, its use, its record',
    async () => {
      const kit = await withTenant(shared)
      const { secret: token, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
      const answers = await enrollMany(kit, 40, () => token)
      assert.deepEqual(countOf(answers), { 201: 40 })
      const devices = await devicesOf(kit)
      assert.equal(devices.length, 40)
      assert.equal(new Set(devices.map((d) => d.address_number)).size, 40, 'each device has its own address')
      assert.equal(Math.max(...devices.map((d) => d.address_number)), 40, 'no address is left out')
      assert.equal(await usesOf(kit, enrollment_token), 40)
      const events = await eventsOf(kit, 'device.enrolled')
      assert.deepEqual(
        new Set(events.map((e) => `${e.target?.id} ${e.target?.name} ${e.request_id} ${e.actor.id}`)),
        new Set(
          answers.map(
            (a, i) => `${a.json.device_id} laptop-${i} ${a.headers['x-request-id']} ${enrollment_token.token_id}`,
          ),
        ),
        'each event says which request made which device',
      )
      assert.equal(events.length, 40)
      const sample = answers[20]!
      const { name } = await kit.admin.getDevice({ params: { device_id: String(sample.json.device_id) } })
      assert.equal(name, 'laptop-20')
    },
  )

  await t.test(
    'tokens mixed in the same rush: the one with five uses gives five, the others are not held up by it',
    async () => {
      const kit = await withTenant(shared)
      const limited = await kit.admin.generateToken({ body: { max_uses: 5 } })
      const open = await kit.admin.generateToken({ body: { max_uses: 0 } })
      const revoked = await kit.admin.generateToken({ body: { max_uses: 0 } })
      const tokens = [limited, limited, open, open, revoked, revoked]
      await kit.admin.revokeToken({ params: { token_id: revoked.enrollment_token.token_id } })
      const answers = await enrollMany(kit, 30, (i) => tokens[i % 6]!.secret)
      const of = (token: typeof open) => countOf(answers.filter((_, i) => tokens[i % 6] === token))
      assert.deepEqual([of(limited), of(open), of(revoked)], [{ 201: 5, 401: 5 }, { 201: 10 }, { 401: 10 }])
      assert.equal(await usesOf(kit, limited.enrollment_token), 5)
      assert.equal(await usesOf(kit, open.enrollment_token), 10)
      assert.equal((await devicesOf(kit)).length, 15)
    },
  )

  await t.test('one key makes one device, however often and wherever it asks at once, and takes one use', async () => {
    const kit = await withTenant(shared)
    const first = await kit.admin.generateToken({ body: { max_uses: 2 } })
    const second = await kit.admin.generateToken({ body: { max_uses: 2 } })
    const { privateJwk } = generateKey('ES256')
    const sameKey = () => privateJwk
    const pair = await enrollMany(kit, 2, () => first.secret, sameKey)
    assert.deepEqual(countOf(pair), { 201: 1, 422: 1 })
    assert.match(pair.find((a) => a.status === 422)!.text, /public_key: is the key of another device/)
    assert.equal(await usesOf(kit, first.enrollment_token), 1)

    const { privateJwk: other } = generateKey('ES256')
    const many = await enrollMany(
      kit,
      20,
      (i) => (i % 3 ? first : second).secret,
      () => other,
    )
    assert.equal(countOf(many)[201], 1, JSON.stringify(countOf(many)))
    assert.equal((await usesOf(kit, first.enrollment_token)) + (await usesOf(kit, second.enrollment_token)), 2)
    assert.equal((await devicesOf(kit)).length, 2)

    await kit.admin.changeDevice({
      body: { operation: 'revoke', device_id: String(pair.find((a) => a.status === 201)!.json.device_id) },
    })
    assert.deepEqual(
      countOf(await enrollMany(kit, 1, () => second.secret, sameKey)),
      { 201: 1 },
      'the key is free again',
    )
  })

  await t.test('a stolen enrollment request sent again at once, to both replicas, counts once', async () => {
    const kit = await withTenant(shared)
    const { secret: token, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
    const { method, path } = operation('enroll')
    const headers = {
      'content-type': 'application/json',
      ...deviceCaller(token, generateKey('ES256').privateJwk)(method, kit.publicUrl + path),
    }
    const body = JSON.stringify({ device: { name: 'laptop', platform: 'linux' } })
    const answers = await times(20, (i) => send({ ...kit, ...kit.replicas[i % 2]! }, method, path, headers, body))
    assert.deepEqual(countOf(answers), { 201: 1, 401: 19 })
    assert.equal(await usesOf(kit, enrollment_token), 1)
  })

  await t.test('whose user is held for long is told to come again, and keeps nobody else waiting', async () => {
    const kit = await withTenant(shared)
    const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
    const { user: other } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ben' } } })
    const terms = [{ user_id: user.user_id }, { user_id: other.user_id }, {}]
    const tokens = await times(3, async (i) => await kit.admin.generateToken({ body: { max_uses: 0, ...terms[i] } }))
    const holder = new pg.Client({ connectionString: kit.databaseUrl })
    await holder.connect()
    await holder.query('begin')
    const id = decodeId('user', user.user_id)
    await holder.query(`select from users where user_id = '${id}' for no key update`)
    const answers = await enrollMany(kit, 12, (i) => tokens[i % 3]!.secret)
    const of = (n: number) => answers.filter((_, i) => i % 3 === n)
    assert.deepEqual([countOf(of(0)), countOf(of(1)), countOf(of(2))], [{ 500: 4 }, { 201: 4 }, { 201: 4 }])
    for (const { headers, text } of of(0)) {
      assert.equal(headers['retry-after'], '2')
      assert.match(text, /is being changed: try again/)
    }
    assert.equal(await usesOf(kit, tokens[0]!.enrollment_token), 0)
    const waiting = enrollMany(kit, 2, () => tokens[0]!.secret)
    await setTimeout(100)
    await holder.query('rollback')
    await holder.end()
    assert.deepEqual(countOf(await waiting), { 201: 2 })
  })

  await t.test(
    'a user has no more devices than the token allows, however many come at once and by which token',
    async () => {
      const kit = await withTenant(shared)
      const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
      const terms = { max_uses: 0, user_id: user.user_id, max_devices_per_user: 3 }
      const tokens = [await kit.admin.generateToken({ body: terms }), await kit.admin.generateToken({ body: terms })]
      const answers = await enrollMany(kit, 10, (i) => tokens[i % 2]!.secret)
      assert.deepEqual(countOf(answers), { 201: 3, 409: 7 })
      assert.match(answers.find((a) => a.status === 409)!.text, /entitlement_exceeded.*3 devices/)
      assert.equal((await devicesOf(kit)).length, 3)
      const uses = await Promise.all(tokens.map((made) => usesOf(kit, made.enrollment_token)))
      assert.equal(uses[0]! + uses[1]!, 3, 'who is refused takes no use')
    },
  )

  await t.test('the last addresses go to as many devices as there are', async () => {
    const kit = await withTenant(shared)
    const { secret: token, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx
        .updateTable('tenant_epochs')
        .set({ addresses: addressCapacity - 3 })
        .where('tenant_id', '=', kit.tenant)
        .execute(),
    )
    const answers = await enrollMany(kit, 10, () => token)
    assert.deepEqual(countOf(answers), { 201: 3, 409: 7 })
    assert.equal(Math.max(...(await devicesOf(kit)).map((d) => d.address_number)), addressCapacity)
    assert.equal(await usesOf(kit, enrollment_token), 3)
  })

  await t.test(
    'whoever enrolls with the key of a device that is just being revoked waits without holding up the tenant',
    async () => {
      const kit = await withTenant(shared)
      const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
      const device = await enrollRaw(kit, token)
      const isWaiting = async (tx: Tx) => {
        const { rows } = await sql`select from pg_locks join pg_stat_activity using (pid)
      where not granted and datname = current_database()`.execute(tx)
        return rows.length > 0
      }
      const answers = await kit.db.inTenant(kit.tenant, async (tx) => {
        await tx.updateTable('devices').set({ status: 'revoked', revoked_at: new Date() }).execute()
        const asked = enrollMany(
          kit,
          1,
          () => token,
          () => device.key,
        )
        const settled = asked.then(() => true)
        while (!(await isWaiting(tx)) && !(await Promise.race([settled, setTimeout(10, false)])));
        await tx.selectFrom('tenant_epochs').select('seq').forUpdate().execute()
        return () => asked
      })
      assert.deepEqual(countOf(await answers()), { 201: 1 })
    },
  )
})
