import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { bearer, type Caller, call, operation } from '../support/clients/api-calls.ts'
import { createNetwork, type Network } from '../support/database/network-faults.ts'
import { type Kit, type Replica, startKit } from '../support/deployment/deployment.ts'

export const withKey =
  (caller: Caller, key: string): Caller =>
  (method, url) => ({ ...caller(method, url), 'idempotency-key': key })

/** Ages all claims by a minute, so that abandoned ones may be taken over. */
const letClaimsAge = (kit: Kit) =>
  kit.replicas[1]!.app.db.inTenant(kit.tenant, async (tx) => {
    const long = new Date(Date.now() - 60_000)
    await tx.updateTable('idempotency_keys').set({ created_at: long }).where('tenant_id', '=', kit.tenant).execute()
  })

/** Ends a replica before every `step`th statement of a change, and sends the same request to another replica. */
export async function endAtEachStatement(t: TestContext, { from, step }: { from: number; step: number }) {
  let network: Network | undefined
  const kit = await startKit(t, {
    replicas: 2,
    route: async (url, n) => {
      if (n > 0) return url
      network = await createNetwork(t, url)
      return network.url
    },
  })
  const [, second] = kit.replicas as [Replica, Replica]
  const admin = bearer(kit.adminKey)
  const create = operation('changeUser')
  const onSecond = { ...kit, ...second }
  const made = async (username: string) => {
    const { items } = await kit.clientFor(kit.adminKey, second).listUsers({ query: { q: username, limit: 10 } })
    return items.length
  }

  let tried = 0
  const outcomes: Record<string, number> = {}
  for (let statement = from; ; statement += step) {
    const username = `user-${statement}-x`
    const body = { operation: 'create', user: { username } }
    const key = `key-${statement}`
    while ((await call(kit, operation('ready'), null)).status !== 200) await delay(50)
    // Every statement of the first replica counts, except its heartbeat's.
    network!.endBefore(statement)
    const first = await call(kit, create, withKey(admin, key), body)
    const ended = network!.hasEnded()
    network!.mend()
    tried++
    if (!ended) {
      assert.equal(first.status, 201, first.text)
      break
    }
    await letClaimsAge(kit)
    const again = await call(onSecond, create, withKey(admin, key), body)
    const third = await call(onSecond, create, withKey(admin, key), body)
    const known = again.status === 201 || /succeeded, but its response/.test(again.text)
    assert.ok(known, `after statement ${statement}: ${again.status} ${again.text}`)
    assert.equal(await made(username), 1, `after statement ${statement} (${first.status}, then ${again.status})`)
    assert.deepEqual([third.status, third.json.detail], [again.status, again.json.detail])
    const name =
      again.status !== 201
        ? 'told that it was made'
        : again.headers['idempotency-replayed']
          ? 'answer repeated'
          : 'made then'
    outcomes[name] = (outcomes[name] ?? 0) + 1
    assert.ok(statement < 60, 'it never ends')
  }
  assert.ok(tried > 1)
  if (step === 1) assert.ok(outcomes['made then'] && outcomes['told that it was made'])
  console.log(`# idempotency: ended before ${tried - 1} statements, 0 changes made twice; ${JSON.stringify(outcomes)}`)
}
