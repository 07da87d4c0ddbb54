import { decodeId } from '../../../src/kernel/ids.ts'
import type { Kit } from './deployment.ts'

export const acme = {
  operation: 'create',
  tenant: { name: 'acme', display_name: 'Acme Inc.', limits: { users: 5 } },
  administrator: { username: 'jane', email: 'jane@acme.example' },
} as const

export const janesPassword = 'correct horse battery of jane'

/** Creates a tenant through the API, with a client of its administrator. */
export async function makeTenant(kit: Kit, name: string, limits: Record<string, number> = {}) {
  const { tenant } = await kit.admin.changeTenant({
    body: {
      operation: 'create',
      tenant: { name, limits },
      administrator: { username: 'jane', password: janesPassword },
    },
  })
  const id = decodeId('tenant', tenant.tenant_id) as Kit['tenant']
  return { tenant, id, client: await kit.as('tenant_admin', id) }
}
