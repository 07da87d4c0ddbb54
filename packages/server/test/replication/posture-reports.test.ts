// Own process: it replaces the query function of the database client.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { enroll } from '../support/actors/devices.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { publishChecks, rulesAt, scoreCheck } from '../support/domain/posture.ts'

test('a check that was removed and added again is judged by the last report on an idle replica', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const laptop = await enroll(kit, 'laptop')
  const say = (edr: number) => laptop.client.reportPosture({ body: { facts: { 'edr.score': edr } } })
  await publishChecks(kit, { edr: scoreCheck(60) })
  await say(80)
  await kit.heard()
  assert.deepEqual(await rulesAt(laptop, kit.replicas), [
    ['plain', 'wiki'],
    ['plain', 'wiki'],
  ])
  await publishChecks(kit, {})
  await say(10)
  await publishChecks(kit, { edr: scoreCheck(60) })
  await kit.heard()
  assert.deepEqual(await rulesAt(laptop, kit.replicas), [['plain'], ['plain']])
})

test('a device gets a new policy while the reports of all others are still being read', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const laptop = await enroll(kit, 'laptop')
  const other = await enroll(kit, 'other')
  await publishChecks(kit, { edr: scoreCheck(50) })
  for (const { client } of [laptop, other])
    for (const edr of [80, 55]) await client.reportPosture({ body: { facts: { 'edr.score': edr } } })
  await kit.heard()
  await rulesAt(laptop, kit.replicas)
  const goOn = Promise.withResolvers<void>()
  const { query } = pg.Client.prototype
  const restore = () => {
    pg.Client.prototype.query = query
    goOn.resolve()
  }
  t.after(restore)
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const [first] = given as readonly unknown[]
    const isPage = /from device_postures p\s+join/.test((first as { text?: string }).text ?? '')
    const send = () => Reflect.apply(query, this, given)
    return isPage ? goOn.promise.then(send) : send()
  } as typeof query
  await publishChecks(kit, { edr: scoreCheck(60) })
  await kit.heard()
  const second = kit.replicas[1]!
  assert.deepEqual(await rulesAt(laptop, [second]), [['plain']])
  restore()
  assert.deepEqual(await rulesAt(other, kit.replicas), [['plain'], ['plain']])
  const held = await second.app.fleet.all(kit.tenant)
  assert.deepEqual(
    [...held.values()].map(({ posture }) => posture?.facts['edr.score']).sort(),
    [55, 55],
    'all are read in the end',
  )
})
