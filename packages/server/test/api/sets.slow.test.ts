import assert from 'node:assert/strict'
import { test } from 'node:test'
import { raceForAdministrators } from '../support/actors/administrator-race.ts'
import { startKit } from '../support/deployment/deployment.ts'

/** More with HOLDFAST_RACE_ROUNDS. */
const rounds = Number(process.env.HOLDFAST_RACE_ROUNDS ?? 200)

test('a tenant keeps an administrator, whatever is done to two people at once, many times', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { without, refused } = await raceForAdministrators(kit, rounds)
  t.diagnostic(`${rounds} rounds, ${refused} refusals, ${without} without an administrator`)
  assert.equal(without, 0)
})
