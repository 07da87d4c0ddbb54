import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enroll, newSession, refused, report, withGateway } from '../support/actors/gateways.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

const resource = (name: string, [rx_bytes, tx_bytes]: [number, number]) => ({ resource: name, rx_bytes, tx_bytes })

test('bytes of a session by resource', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { client } = await withGateway(kit)
  const device = await enroll(kit, 'laptop')
  const publish = (names: readonly string[]) => {
    const resources = Object.fromEntries(names.map((name) => [name, { cidrs: ['10.0.0.0/8'] }]))
    const rules = names.map((name) => ({ id: name, action: 'allow' as const, from: { any: true }, to: [name] }))
    const hosts = { bastion: '10.90.0.10' }
    const policy = { schema: 'holdfast.policy/1' as const, hosts, resources, rules }
    return admin.publishPolicy({ body: { channel: 'stable', policy } })
  }
  const sample = (session_id: string, resources?: object[], more: object = {}) => ({
    session_id,
    device_id: device.id,
    state: 'active',
    rx_bytes: 10,
    tx_bytes: 1,
    ...more,
    ...(resources && { resources }),
  })
  const send = (...samples: object[]) => client.metering({ body: report(samples) })
  const get = async (session_id: string) => (await admin.getSession({ params: { session_id } })).resources
  await publish(['wiki', 'git', 'constructor'])

  await t.test('what each report says is added up, also of one session in several samples', async () => {
    const id = newSession()
    const first = [resource('wiki', [5, 1]), resource('git', [2, 0]), resource('wiki', [1, 1])]
    await send(sample(id, first), sample(id, [resource('git', [0, 20])]))
    await send(sample(id, [resource('git', [3, 0]), resource('bastion', [1, 0])]), sample(id))
    await send(sample(id))
    assert.deepEqual(await get(id), [resource('git', [5, 20]), resource('wiki', [6, 2]), resource('bastion', [1, 0])])
    const listed = (await admin.listSessions({ query: { device_id: device.id } })).items
    assert.deepEqual([listed[0]?.session_id, Object.hasOwn(listed[0] ?? {}, 'resources')], [id, false])
  })

  await t.test('twenty sends of one report at once count once, twenty different ones all', async () => {
    const id = newSession()
    const body = report([sample(id, [resource('wiki', [7, 3])])])
    const answers = await times(20, () => client.metering({ body }))
    assert.equal(answers.filter(({ duplicate }) => !duplicate).length, 1)
    assert.deepEqual(await get(id), [resource('wiki', [7, 3])])
    await times(20, () => send(sample(id, [resource('wiki', [1, 0]), resource('git', [0, 2])])))
    assert.deepEqual(await get(id), [resource('git', [0, 40]), resource('wiki', [27, 3])])
  })

  await t.test('a name that the policy does not have is told, and the rest of the sample counts', async () => {
    const id = newSession()
    const elsewhere = await kit.as('tenant_admin', await kit.newTenant())
    await elsewhere.publishPolicy({
      body: {
        channel: 'stable',
        policy: {
          schema: 'holdfast.policy/1',
          resources: { theirs: { cidrs: ['10.0.0.0/8'] } },
          rules: [{ id: 'theirs', action: 'allow', from: { any: true }, to: ['theirs'] }],
        },
      },
    })
    const given = ['theirs', 'wiki', 'toString', 'constructor'].map((name) => resource(name, [1, 1]))
    const { unknown_resources, ...answer } = await send(sample(id, given))
    assert.deepEqual(answer, { accepted: 1, duplicate: 0, rejected: [] })
    assert.deepEqual(unknown_resources, ['theirs', 'toString'])
    assert.deepEqual(await get(id), [resource('constructor', [1, 1]), resource('wiki', [1, 1])])
    for (const bad of ['', 'a b', '../x', 'x'.repeat(65), '__proto__'])
      await assert.rejects(send(sample(id, [resource(bad, [1, 1])])), refused(422, /resource/))
    const { rx_bytes } = await admin.getSession({ params: { session_id: id } })
    assert.equal(rx_bytes, 10)
  })

  await t.test(
    'a session goes on with what the policy has lost meanwhile, and another does not begin with it',
    async () => {
      const [old, young] = [newSession(), newSession()]
      await send(sample(old, [resource('git', [1, 0])], { state: 'ended' }))
      await publish(['wiki'])
      assert.deepEqual((await send(sample(old, [resource('git', [1, 0])]))).unknown_resources, [])
      assert.deepEqual((await send(sample(young, [resource('git', [1, 0])]))).unknown_resources, ['git'])
      assert.deepEqual([await get(old), await get(young)], [[resource('git', [2, 0])], []])
    },
  )

  await t.test('a session has 64 of them at most, and sums stay exact', async () => {
    const names = Array.from({ length: 70 }, (_, i) => `r-${i}`)
    await publish(names)
    const id = newSession()
    const most = Number.MAX_SAFE_INTEGER
    const part = (from: number, to: number) => names.slice(from, to).map((name) => resource(name, [1, 1]))
    await send(sample(id, part(0, 60)))
    await send(sample(id, part(0, 60)), sample(id, part(60, 70)))
    assert.equal((await get(id)).length, 64)
    await send(sample(id, [resource('r-0', [most, 1])]))
    await send(sample(id, [resource('r-0', [most, 1]), resource('r-69', [1, 1])]))
    const [first, ...others] = await get(id)
    assert.deepEqual([first, others.length], [resource('r-0', [most, 4]), 63])
    const tooMany = Array.from({ length: 65 }, () => resource('r-0', [1, 1]))
    await assert.rejects(send(sample(id, tooMany)), refused(422, /resources/))
  })
})
