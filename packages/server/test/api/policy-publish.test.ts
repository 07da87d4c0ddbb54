import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { enroll } from '../support/actors/devices.ts'
import { refused } from '../support/clients/answers.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { policyTo } from '../support/domain/policy.ts'

test('publishing to stable during a canary', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2, config: { gatewaysKnow: new Set(['services']) } })
  const { admin } = kit
  const device = await enroll(kit, 'laptop')
  const delivered = async () => {
    const { channel, version } = await device.client.policyDigest()
    return [channel, version]
  }
  const current = async () =>
    (await admin.listPolicyBundles()).items.filter((b) => b.current).map((b) => [b.channel, b.version])
  const [a, b, c] = [policyTo('10.1.0.0/16'), policyTo('10.2.0.0/16'), policyTo('10.3.0.0/16')]
  const everyone = { percent: 100 }
  await admin.publishPolicy({ body: { channel: 'stable', policy: a } })
  await admin.publishPolicy({ body: { channel: 'canary', policy: b, rollout: everyone } })
  assert.deepEqual(await delivered(), ['canary', 2])

  await t.test('a publish without supersede is refused, names the canary, and publishes nothing', async () => {
    const asks = refused(422, /supersede.*canary version 2 is active.*supersede: true/)
    await assert.rejects(admin.publishPolicy({ body: { channel: 'stable', policy: c } }), asks)
    await assert.rejects(
      admin.publishPolicy({ body: { channel: 'stable', from: { channel: 'stable' }, supersede: false } }),
      asks,
    )
    assert.deepEqual([await delivered(), (await admin.listPolicyBundles()).items.length], [['canary', 2], 2])
  })
  await t.test('promoting the canary needs no supersede, and ends it', async () => {
    const promoted = await admin.publishPolicy({ body: { channel: 'stable', from: { channel: 'canary' } } })
    assert.deepEqual([promoted.version, await delivered(), await current()], [3, ['stable', 3], [['stable', 3]]])
    await admin.publishPolicy({ body: { channel: 'stable', policy: a } })
  })
  await t.test(
    'a publish with supersede ends the canary: its devices get stable, and later publishes need none',
    async () => {
      await admin.publishPolicy({ body: { channel: 'canary', policy: b, rollout: everyone } })
      assert.deepEqual(await current(), [
        ['canary', 5],
        ['stable', 4],
      ])
      await admin.publishPolicy({ body: { channel: 'stable', policy: c, supersede: true } })
      assert.deepEqual([await delivered(), await current()], [['stable', 6], [['stable', 6]]])
      await admin.publishPolicy({ body: { channel: 'stable', policy: a } })
    },
  )
  await t.test('a rollback to the delivered version is refused, unless it ends a canary', async () => {
    const nothing = refused(
      422,
      /^from: stable already delivers this document, as version 7, and no canary.*nothing would change/,
    )
    const number = (await admin.listPolicyBundles()).items.length
    for (const from of [{ channel: 'stable' }, { version: 7 }, { version: 1 }] as const)
      for (const supersede of [true, false])
        await assert.rejects(admin.publishPolicy({ body: { channel: 'stable', from, supersede } }), nothing)
    await assert.rejects(
      admin.runWorkflow({ body: { workflow: 'rollback_policy', params: { version: 7 } } }).then(({ run }) => {
        assert.deepEqual([run.status, run.steps[0]?.status], ['failed', 'failed'])
        throw new Error(run.steps[0]?.error ?? '')
      }),
      /nothing would change/,
    )
    assert.equal((await admin.listPolicyBundles()).items.length, number)
    await admin.publishPolicy({ body: { channel: 'canary', policy: b, rollout: everyone } })
    await admin.publishPolicy({ body: { channel: 'stable', from: { channel: 'stable' }, supersede: true } })
    assert.deepEqual(await current(), [['stable', 9]])
    const { run } = await admin.runWorkflow({ body: { workflow: 'rollback_policy' } })
    assert.equal(run.status, 'succeeded')
    const [newest] = (await admin.listPolicyBundles({ query: { limit: 1 } })).items
    assert.equal(newest?.note, 'rolled back to version 6', 'the newest version with another document')
    await admin.publishPolicy({ body: { channel: 'stable', from: { version: 9 } } })
  })
  await t.test('conditions that gateways support may be used, and no others', async () => {
    const { rules } = policyTo('10.4.0.0/16')
    const abroad = { ...policyTo('10.4.0.0/16'), rules: [{ ...rules[0], when: { countries: ['DE'] } }] }
    const unknown = refused(
      422,
      /rules\[0\]\.when\.countries.*the gateways of this deployment do not know.*HOLDFAST_GATEWAYS_KNOW=countries/,
    )
    await assert.rejects(admin.publishPolicy({ body: { channel: 'stable', policy: abroad } }), unknown)
    const { valid, errors } = await admin.validatePolicy({ body: { policy: abroad } })
    assert.deepEqual([valid, errors.map(({ field }) => field)], [false, ['rules[0].when.countries']])
    const known = { ...policyTo('10.4.0.0/16'), resources: { wiki: { services: ['wiki'] } } }
    assert.equal((await admin.validatePolicy({ body: { policy: known } })).valid, true)
  })
  await t.test(
    'of twenty concurrent publishes with the same previous digest on two replicas, one succeeds',
    async () => {
      const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
      const [seen] = (await admin.listPolicyBundles({ query: { channel: 'stable', limit: 1 } })).items
      const published = await times(20, (i) => {
        const body = { channel: 'stable', policy: policyTo(`10.50.${i}.0/24`), previous_digest: seen!.digest } as const
        return clients[i % 2]!.publishPolicy({ body }).catch(
          refused(422, /previous_digest.*stable was changed meanwhile and now has sha256:/),
        )
      })
      assert.equal(published.filter((p) => p !== true).length, 1)
      const nothing = { channel: 'stable', policy: a, previous_digest: null } as const
      await assert.rejects(admin.publishPolicy({ body: nothing }), refused(422, /previous_digest/))
    },
  )
  await t.test('none of twenty concurrent publishes on two replicas ends a canary without supersede', async () => {
    const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
    const published = await times(20, async (i) => {
      const channel = i % 4 < 2 ? ('stable' as const) : ('canary' as const)
      try {
        return await clients[i % 2]!.publishPolicy({ body: { channel, policy: policyTo(`10.100.${i}.0/24`) } })
      } catch (e) {
        refused(422, /supersede/)(e)
        return undefined
      }
    })
    const versions = (channel: string) => published.flatMap((p) => (p?.channel === channel ? [p.version] : []))
    assert.equal(versions('canary').length, 10)
    assert.deepEqual(
      versions('stable').filter((version) => version > Math.min(...versions('canary'))),
      [],
      'stable versions that were published over a canary',
    )
  })
})

test('a policy with too many variants warns at validation, at publish and in the list', async (t: TestContext) => {
  const kit = await startKit(t)
  const tags = Array.from({ length: 11 }, (_, i) => `tag-${i}`)
  const fine = {
    schema: 'holdfast.policy/1',
    rules: tags.map((tag, i) => ({ id: tag, action: 'allow', from: { tags: [tag] }, to: [`10.0.${i}.0/24`] })),
  }
  const coarse = { ...fine, rules: fine.rules.slice(0, 5) }
  await enroll(kit, 'one of many')
  // Inserts 1,200 similar devices, each with tags of its own.
  await kit.db.inTenant(kit.tenant, (tx) =>
    sql`
      insert into devices (tenant_id, device_id, name, platform, tags, group_ids, status, address_number,
        credential_expires_at, credential_renew_after, enrolled_method, enrolled_at)
      select tenant_id, md5('device' || i)::uuid, 'device ' || i, platform,
        array(select 'tag-' || bit from generate_series(0, 10) as bit where (i >> bit) % 2 = 1),
        '{}', 'active', 100000 + i, now() + interval '1 day', now() + interval '1 day', enrolled_method, now()
      from devices, generate_series(1, 1200) as i where tenant_id = ${kit.tenant}`.execute(tx),
  )
  const fresh = kit.clientFor(kit.adminKey, await kit.startReplica())
  const warns = (warnings: string[]) => {
    assert.equal(warnings.length, 1)
    assert.match(
      warnings[0]!,
      /^this document produces 1201 different policies for 1201 devices, .* fewer overlapping groups/,
    )
  }
  const tried = await fresh.validatePolicy({ body: { policy: fine } })
  assert.equal(tried.valid, true)
  warns(tried.warnings)
  const published = await fresh.publishPolicy({ body: { channel: 'stable', policy: fine } })
  const shown = ({ bundle_id } = published) => fresh.getPolicyBundle({ params: { bundle_id } })
  // An impact that takes longer than the publish waits is reported later; it can be read at once.
  if (published.impact.status === 'running') await until(async () => (await shown()).impact.status === 'done')
  else warns(published.warnings)
  warns((await shown()).warnings)
  warns((await fresh.listPolicyBundles()).items[0]!.warnings)

  assert.deepEqual((await fresh.validatePolicy({ body: { policy: coarse } })).warnings, [])
  const next = await fresh.publishPolicy({ body: { channel: 'stable', policy: coarse } })
  assert.deepEqual([next.warnings, (await shown(next)).variants], [[], 32])
})
