import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { enrollRaw, populate } from '../support/actors/all-callers.ts'
import { runJob, startKit } from '../support/deployment/deployment.ts'

test('what is over is forgotten after its time, and what is still referred to stays', async (t) => {
  const kit = await startKit(t)
  await populate(kit, kit.admin)
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  const ask = async (text: string) => (await owner.query<{ n: number }>(text)).rows[0]?.n
  const t0 = `'${kit.tenant}'::uuid`
  await owner.query(`insert into admin_sessions (tenant_id, session_id, user_id, secret_digest, auth_method, started_at,
      last_seen_at, idle_seconds, expires_at, ended_at, end_reason)
    select ${t0}, gen_random_uuid(), (select user_id from users limit 1), decode(md5('' || i), 'hex'), 'password', now(), now(),
      60, now(), now() - i * interval '1 day', 'timeout' from generate_series(1, 2040) as i`)
  await owner.query(`insert into enrollment_tokens (tenant_id, token_id, lookup, secret_digest, hint, kind, max_uses, expires_at)
    select ${t0}, gen_random_uuid(), 'x' || i, '', '', 'enroll', 1, now() - i * interval '10 days' from generate_series(1, 12) as i`)
  await owner.query(`insert into policy_bundles (tenant_id, bundle_id, version, seq, channel, digest, document, resolution,
      tests, impact, published_at)
    select ${t0}, gen_random_uuid(), i, i, 'stable', 'd' || i, '{}', '{}', '{}', '{}', now() - interval '90 days'
    from generate_series(100, 349) as i`)
  // Four trust sets with one key, and one with another: the last set of each key list is kept.
  await owner.query(`insert into trust_sets (tenant_id, version, document, expires_at, trust_kids)
    select ${t0}, -i, '{}', now() - interval '1 day', array[case when i > 1 then 'old' else 'new' end]
    from generate_series(1, 5) as i`)
  const current = await ask(`select count(*)::int as n from policy_channels where tenant_id = ${t0}`)

  await runJob(kit.app, 'forget_what_is_over')

  assert.equal(
    await ask(`select count(*)::int as n from admin_sessions where ended_at < now() - interval '30 days'`),
    0,
  )
  assert.equal(
    await ask(`select count(*)::int as n from admin_sessions where ended_at > now() - interval '30 days'`),
    29,
  )
  assert.equal(await ask(`select count(*)::int as n from enrollment_tokens where secret_digest = ''`), 8)
  assert.equal(await ask(`select count(*)::int as n from policy_bundles where version >= 100`), 200)
  assert.equal(
    await ask(`select count(*)::int as n from policy_channels c join policy_bundles b using (tenant_id, version)
      where c.tenant_id = ${t0}`),
    current,
  )
  assert.equal(await ask(`select count(*)::int as n from trust_sets where tenant_id = ${t0} and version < 0`), 2)
  assert.ok((await ask(`select count(*)::int as n from trust_sets where tenant_id = ${t0}`))! >= 1)
  await owner.end()
})

test("the address of a revoked device is another one's after a day, and not before", async (t) => {
  const kit = await startKit(t)
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 10 } })
  const enroll = (name: string) => enrollRaw(kit, token, name)
  const numberOf = async (name: string) =>
    (await owner.query('select address_number::int as n from devices where name = $1', [name])).rows[0].n as number
  const first = await enroll('first')
  await enroll('second')
  const released = await numberOf('first')
  await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: first.id } })
  await enroll('third')
  assert.notEqual(await numberOf('third'), released)
  await owner.query("update free_addresses set released_at = now() - interval '25 hours'")
  await enroll('fourth')
  assert.equal(await numberOf('fourth'), released)
  const numbers = [await numberOf('second'), await numberOf('third'), await numberOf('fourth')]
  assert.equal(new Set(numbers).size, 3)
  await owner.end()
})
