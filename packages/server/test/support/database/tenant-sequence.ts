import assert from 'node:assert/strict'
import type { Kit } from '../deployment/deployment.ts'

export const tenantSequence = async (kit: Kit) =>
  kit.db.inTenant(kit.tenant, async (tx) => {
    const row = await tx
      .selectFrom('tenant_epochs')
      .select('seq')
      .where('tenant_id', '=', kit.tenant)
      .executeTakeFirstOrThrow()
    return row.seq
  })

/** Makes a change that does not concern gateways. */
export async function changeSomethingElse(kit: Kit) {
  const before = await tenantSequence(kit)
  const { api_key } = await kit.admin.createApiKey({ body: { name: 'short-lived', role: 'viewer' } })
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} })
  assert.ok((await tenantSequence(kit)) > before)
}
