import assert from 'node:assert/strict'
import type { Client } from '@holdfast/sdk'
import { sql } from 'kysely'
import type { TenantId } from '../../../src/kernel/actor.ts'
import { everything } from '../../../src/replication/changes.ts'
import { type Kit, times } from '../deployment/deployment.ts'

/** Raises the limit of requests of a key. A key may not raise its own. */
const liftRate = (kit: Kit, tenant: TenantId) =>
  kit.db.inTenant(tenant, async (tx) => {
    const security = JSON.stringify({ api: { requests_per_minute_per_key: 1_000_000 } })
    await tx
      .insertInto('tenant_settings')
      .values({ tenant_id: tenant, security })
      .onConflict((c) => c.column('tenant_id').doUpdateSet({ security }))
      .execute()
    await kit.app.changes.record(tx, tenant, [{ kind: 'settings', subject: everything }])
  })

/**
 * Simulates concurrent changes of administrators on two replicas: of two users, the administrator loses the role while
 * the other is suspended and made administrator. Returns how many tenants were left without an administrator, and how
 * many changes were refused.
 */
export async function raceForAdministrators(kit: Kit, rounds: number): Promise<{ without: number; refused: number }> {
  let without = 0
  let refused = 0
  const race = async (count: number) => {
    const tenant = await kit.newTenant()
    // The platform may stop the last one, the tenant's own administrators may not.
    const key = await kit.keyFor('tenant_admin', tenant)
    const [here, there] = kit.replicas.map((replica) => kit.clientFor(key, replica)) as [Client, Client]
    const make = async (username: string) =>
      (await here.changeUser({ body: { operation: 'create', user: { username } } })).user.user_id
    const [x, y] = [await make('x'), await make('y')]
    const role = 'tenant_admin' as const
    await liftRate(kit, tenant)
    const grant = (client: Client, user_id: string) => client.grantRole({ body: { user_id, role } })
    const revoke = (client: Client, user_id: string) => client.revokeRole({ body: { user_id, role } })
    await grant(here, x)
    for (let round = 0; round < count; round++) {
      const [first, second] = round % 2 ? [here, there] : [there, here]
      const done = await Promise.allSettled([
        first.suspendUser({ body: { user_id: y } }),
        second.grantRole({ body: { user_id: y, role } }),
        first.revokeRole({ body: { user_id: x, role } }),
      ])
      for (const d of done)
        if (d.status === 'rejected') {
          refused++
          assert.equal(d.reason.status, 422, String(d.reason))
        }
      const { rows } = await kit.db.inTenant(tenant, (tx) =>
        sql`select 1 from users u join user_roles r using (tenant_id, user_id)
          where u.tenant_id = ${tenant} and u.status = 'active' and r.role = ${role}`.execute(tx),
      )
      if (rows.length === 0) without++
      await here.reactivateUser({ body: { user_id: y } })
      await grant(here, x)
      await revoke(here, y)
    }
  }
  await times(2, () => race(Math.ceil(rounds / 2)))
  return { without, refused }
}
