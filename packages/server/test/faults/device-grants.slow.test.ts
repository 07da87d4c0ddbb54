import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startDeviceCodeEnrollment } from '../support/actors/device-code-enrollment.ts'
import { createNetwork, type Network } from '../support/database/network-faults.ts'

/** Two replicas, the first behind a network that can be disturbed, and a provider whose answers the test controls. */
async function startDisturbed(t: TestContext) {
  let network: Network | undefined
  const route = async (url: string, n: number) => {
    if (n > 0) return url
    network = await createNetwork(t, url)
    return network.url
  }
  const g = await startDeviceCodeEnrollment(t, { route })
  /** Waits for a request to the provider, and returns a function that answers it. */
  const question = () => {
    const asked = Promise.withResolvers<(status: number, body: object) => void>()
    const listener: RequestListener = (_, response) => {
      g.idp.answers.delete('/token')
      asked.resolve((status, body) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      )
    }
    g.idp.answers.set('/token', listener)
    return asked.promise
  }
  return { ...g, network: network!, question }
}

test('if a replica ends while it asks the provider, the other asks after a minute and nothing is lost', async (t) => {
  const g = await startDisturbed(t)
  const machine = await g.begun()
  const onSecond = { ...machine, on: g.second }
  g.clock.advance(5)
  const asked = g.question()
  const lost = g.status(machine).catch(() => undefined)
  const answer = await asked
  g.network.refuse(true)
  g.network.cut()
  await g.approve(machine)
  assert.equal((await g.status(onSecond)).json.status, 'authorization_pending', 'one asks at a time')
  const before = g.asked()
  g.clock.advance(61)
  assert.equal((await g.status(onSecond)).json.status, 'authorized')
  assert.equal(g.asked(), before + 1)
  // Any late answer to the first replica changes nothing.
  answer(400, { error: 'access_denied' })
  g.network.refuse(false)
  await lost
  await delay(1500)
  assert.equal((await g.status(onSecond)).json.status, 'authorized')
  assert.equal((await g.finish(onSecond)).status, 201)
})

test('a late answer to a replica that lost the question changes nothing', async (t) => {
  const g = await startDisturbed(t)
  const machine = await g.begun()
  g.clock.advance(5)
  const asked = g.question()
  const first = g.status(machine)
  const late = await asked
  g.clock.advance(61)
  const askedAgain = g.question()
  const second = g.status({ ...machine, on: g.second })
  const answer = await askedAgain
  late(400, { error: 'access_denied' })
  assert.equal((await first).json.status, 'authorization_pending')
  assert.equal((await g.row(machine))?.state, 'pending')
  await g.approve(machine)
  const decided = g.idp.decisions.get(machine.code)
  answer(200, { access_token: 'a', token_type: 'Bearer', id_token: decided && 'idToken' in decided && decided.idToken })
  assert.equal((await second).json.status, 'authorized')
})

test('the answer of a provider is kept while the database stalls', async (t) => {
  const g = await startDisturbed(t)
  const machine = await g.begun()
  g.clock.advance(5)
  const asked = g.question()
  const first = g.status(machine)
  const answer = await asked
  g.network.refuse(true)
  g.network.hold()
  await g.approve(machine)
  const decided = g.idp.decisions.get(machine.code)
  const id_token = decided && 'idToken' in decided ? decided.idToken : ''
  answer(200, { access_token: 'a', token_type: 'Bearer', id_token })
  await delay(3500)
  g.network.refuse(false)
  g.network.release()
  await first
  const asks = g.asked()
  const until = performance.now() + 20_000
  let status: unknown
  while (status !== 'authorized' && performance.now() < until) {
    status = (await g.status({ ...machine, on: g.second })).json.status
    await delay(200)
  }
  assert.deepEqual([status, g.asked()], ['authorized', asks], 'and the provider was asked once')
  assert.equal((await g.finish({ ...machine, on: g.second })).status, 201)
})
