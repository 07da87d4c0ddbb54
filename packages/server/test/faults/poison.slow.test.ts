import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@holdfast/contract'
import pg from 'pg'
import { everything } from '../../src/replication/changes.ts'
import { bearer, call, createWorld, enrollRaw, fill, operation, send } from '../support/actors/all-callers.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

/** Texts that jsonb or text columns refuse, or that become so when cut at the wrong place. */
const poisons = ['\0', '\ud83d', '\udc00x', `${'a'.repeat(63)}😀`, `${'b'.repeat(511)}😀`, 'x\0y']

test('poison in every string that reaches an event harms nobody else', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const world = await createWorld(kit)
  // The neighbour is not to be slowed down by its rate.
  await kit.db.inTenant(world.foreign, async (tx) => {
    await tx
      .updateTable('tenant_settings')
      .set({ security: JSON.stringify({ api: { requests_per_minute_per_key: 100_000 } }) })
      .where('tenant_id', '=', world.foreign)
      .execute()
    await kit.app.changes.record(tx, world.foreign, [{ kind: 'settings', subject: everything }])
  })
  const neighbour = bearer(await kit.keyFor('viewer', world.foreign))
  const statuses = new Map<number, number>()
  const failed: string[] = []
  const count = (what: string, status: number) => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status >= 500) failed.push(`${what}: ${status}`)
  }
  let neighbours = 0
  const beside = async () => {
    for (const answer of await times(4, () => call(kit, operation('listUsers'), neighbour))) {
      neighbours++
      assert.equal(answer.status, 200, answer.text)
    }
  }

  for (const [name, endpoint] of operations) {
    if (endpoint.access.by === 'anyone' || !endpoint.audit) continue
    const caller = world.callers[endpoint.access.by.includes('api_key') ? 'api_key' : endpoint.access.by[0]!]
    const path = fill(endpoint.path, world.own.ids)
    await Promise.all([
      ...poisons.flatMap((poison) => {
        const urls = [`${path}?${encodeURIComponent(poison.toWellFormed())}=1`, `${path}?a=%00`, `${path}?%ED%A0%80=1`]
        const bodies = [{ [poison]: poison }, { name: poison, reason: poison, operation: poison, username: poison }]
        return [
          ...urls.map((url) =>
            send(kit, endpoint.method, url, caller(endpoint.method, kit.publicUrl + path)).then((a) =>
              count(`${name} ${url}`, a.status),
            ),
          ),
          ...bodies.map((body) =>
            call(kit, { method: endpoint.method, path }, caller, body).then((a) =>
              count(`${name} ${JSON.stringify(body)}`, a.status),
            ),
          ),
        ]
      }),
      beside(),
    ])
  }

  // Bodies that are valid except for their text.
  const valid = (text: string): [Parameters<typeof operation>[0], object][] => [
    ['changeUser', { operation: 'create', user: { username: `u${text}`, display_name: text } }],
    ['changeUser', { operation: 'suspend', user_id: world.own.ids.user_id, reason: text }],
    ['changeGroup', { operation: 'create', group: { name: `g${text}`, description: text } }],
    ['createGatewayPool', { name: `p${text}`, region: { code: 'eu' } }],
    ['createApiKey', { name: `k${text}`, role: 'viewer' }],
    ['generateToken', { max_uses: 1, name: text }],
    ['changeDevice', { operation: 'update', device_id: world.own.ids.device_id, device: { name: `d${text}` } }],
    [
      'publishPolicy',
      { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [{ id: 'r', description: text }] } },
    ],
  ]
  for (const poison of poisons)
    await Promise.all([
      ...valid(poison).map(([name, body]) =>
        call(kit, operation(name), world.callers.api_key, body).then((a) =>
          count(`${name} ${JSON.stringify(body)}`, a.status),
        ),
      ),
      beside(),
    ])
  assert.deepEqual(failed, [])
  console.log(
    `# poison: ${[...statuses.values()].reduce((a, b) => a + b)} requests, statuses ${JSON.stringify(Object.fromEntries([...statuses].sort()))}; 0 of ${neighbours} requests of another tenant failed`,
  )
})

test('tenants whose bundles can not be stored keep no other from its own, asked for at the same moment', async (t) => {
  const kit = await startKit(t)
  const tenants = await times(6, () => kit.newTenant())
  const broken = tenants.filter((_, i) => i % 2)
  const devices = await Promise.all(
    tenants.map(async (tenant) => {
      const admin = await kit.as('tenant_admin', tenant)
      const { secret } = await admin.generateToken({ body: { max_uses: 1 } })
      const device = await enrollRaw(kit, secret)
      await admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [] } } })
      assert.equal((await call(kit, operation('policyDigest'), device.caller)).status, 200)
      return device
    }),
  )
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  await owner.query(`create function refuse() returns trigger language plpgsql as $$ begin
      if new.tenant_id in ('${broken.join("','")}') then raise exception 'out of order'; end if; return new; end $$;
    create trigger refuse before insert on policy_variants for each row execute function refuse()`)
  await owner.end()
  const answers = await Promise.all(devices.map((d) => call(kit, operation('policyBundle'), d.caller)))
  assert.deepEqual(
    answers.map((a) => a.status),
    [200, 500, 200, 500, 200, 500],
  )
})
