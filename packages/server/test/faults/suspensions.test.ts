import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearer, call, operation } from '../support/actors/all-callers.ts'
import { type Replica, startKit, times } from '../support/deployment/deployment.ts'

const users = 20
/** More with HOLDFAST_RACE_ROUNDS. */
const rounds = Number(process.env.HOLDFAST_RACE_ROUNDS ?? 3)

test('twenty suspensions at once, of all and of one, between changes of their groups, are answered', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const admin = bearer(kit.adminKey)
  const ids = await times(users, async (i) => {
    const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: `user-${i}` } } })
    return user.user_id
  })
  const groups = await times(4, async (i) => {
    const { group } = await kit.admin.changeGroup({
      body: { operation: 'create', group: { name: `group-${i}`, members: ids.filter((_, n) => n % 4 === i) } },
    })
    return group.group_id
  })
  const failed: string[] = []
  let slowest = 0
  let asked = 0
  const ask = async (
    i: number,
    name: 'suspendUser' | 'reactivateUser' | 'changeGroup' | 'changeUser',
    body: object,
  ) => {
    const began = performance.now()
    const on = { ...kit, ...(kit.replicas[i % 2] as Replica) }
    const answer = await call(on, operation(name), admin, body)
    slowest = Math.max(slowest, performance.now() - began)
    asked++
    if (answer.status !== 200 && failed.length < 20) failed.push(`${name}: ${answer.status} ${answer.text}`)
  }
  for (let round = 0; round < rounds; round++) {
    const suspensions = ids.map((user_id, i) => ask(i, 'suspendUser', { user_id }))
    const again = times(20, (i) => ask(i, 'suspendUser', { user_id: ids[0] }))
    const moves = times(20, (i) => {
      const group_id = groups[i % 4]
      const [one, other] = [ids[i], ids[(i + 7) % users]]
      const both = i % 3 ? [one, other] : [other, one]
      const change = i % 2 ? { add_members: both } : { remove_members: both }
      return ask(i + 1, 'changeGroup', { operation: 'update', group_id, group: change })
    })
    const named = times(10, (i) =>
      ask(i, 'changeUser', {
        operation: 'update',
        user_id: ids[i],
        user: { group_ids: [groups[(i + round) % 4], groups[(i + round + 1) % 4]] },
      }),
    )
    await Promise.all([...suspensions, again, moves, named])
    await times(users, (i) => ask(i, 'reactivateUser', { user_id: ids[i] }))
  }
  t.diagnostic(`${asked} changes, slowest ${Math.round(slowest)} ms, ${failed.length} failed`)
  const causes = kit.logs.filter((line) => /"message":/.test(line))
  assert.deepEqual([failed, failed.length > 0 ? causes : []], [[], []])
})
