import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { TenantId } from './actor.ts'
import { createRepeatCounter } from './repeat-counter.ts'
import { minute } from './time.ts'

const of = (tenantId: string, name = 'x') => ({ tenantId: tenantId as TenantId, name })

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const written: [string, number][] = []
  const problems: string[] = []
  const database = { isAway: false }
  const tally = createRepeatCounter<ReturnType<typeof of>>({
    keyOf: ({ tenantId, name }) => `${tenantId} ${name}`,
    record: async ({ name }, count) => {
      if (database.isAway) throw new Error('away')
      written.push([name, count])
    },
    onError: (e) => problems.push(e.message),
  })
  const pass = async () => {
    t.mock.timers.tick(minute)
    await turn()
  }
  return { tally, written, problems, database, pass }
}

test('the first event is recorded at once, the others of its minute with their count', async (t) => {
  const { tally, written, pass } = start(t)
  for (let i = 0; i < 3; i++) await tally.count(of('a'))
  await tally.count(of('a', 'y'))
  assert.deepEqual(written.splice(0), [
    ['x', 1],
    ['y', 1],
  ])
  await pass()
  assert.deepEqual(written.splice(0), [['x', 2]])
  await tally.count(of('a'))
  await tally.count(of('a'))
  await tally.flush()
  assert.deepEqual(written, [
    ['x', 1],
    ['x', 1],
  ])
})

test('events that could not be recorded are counted with the next ones', async (t) => {
  const { tally, written, problems, database, pass } = start(t)
  database.isAway = true
  await assert.rejects(tally.count(of('a')), /away/)
  await tally.count(of('a'))
  await pass()
  assert.deepEqual(problems, ['away'])
  await tally.count(of('a'))
  database.isAway = false
  await pass()
  assert.deepEqual(written.splice(0), [['x', 3]])

  database.isAway = true
  await assert.rejects(tally.count(of('a')), /away/)
  for (let i = 0; i < 15; i++) await pass()
  database.isAway = false
  await pass()
  assert.deepEqual(written, [], 'and not for ever')
})
