import { randomBytes } from 'node:crypto'
import { examples } from '@holdfast/contract/examples'
import type { Kit } from '../support/deployment/deployment.ts'
import type { Here } from './here.ts'

const named = (noun: string) => `${noun}-${randomBytes(6).toString('hex')}`

/** Names of tenants and plans are unique among all. */
export const tenancyWrites = {
  createPlan: (_: Kit, { callers }: Here) => ({
    caller: callers.api_key,
    body: { ...examples.createPlan, name: named('plan') },
  }),
  updatePlan: (_: Kit, { callers }: Here) => ({
    caller: callers.api_key,
    body: { ...examples.updatePlan, name: named('plan') },
  }),
  /** Changes a new tenant, since the deployment's own tenant must stay as it is. */
  changeTenant: async (kit: Kit, { callers, own }: Here) => {
    const ids: Record<string, string> = own.ids
    if (Object.hasOwn(ids, 'tenant_id')) {
      const body = { operation: 'create', tenant: { name: named('other') } } as const
      ids.tenant_id = (await kit.admin.changeTenant({ body })).tenant.tenant_id
    }
    return { caller: callers.api_key, body: { ...examples.changeTenant, tenant: { name: named('tenant') } } }
  },
}
