import type { Client } from '@holdfast/sdk'
import type { ConfigDocument } from './document.ts'
import { everyOne } from './every-one.ts'

type Scope = { tenant_id?: string }

/**
 * Returns the present configuration in the form of a file. Groups of a directory are left out, since the directory
 * manages them.
 */
export async function currentConfig(client: Client, query: Scope): Promise<ConfigDocument> {
  const { email, webhook } = await client.getNotificationSettings({ query })
  const { available: _, ...ofEmail } = email
  const { install_templates, download_urls } = await client.getEnrollmentSettings({ query })
  const pools = await everyOne((page) => client.listGatewayPools({ query: { ...query, ...page } }))
  const groups = await everyOne((page) => client.listGroups({ query: { ...query, ...page } }))
  const {
    items: [newest],
  } = await client.listPolicyBundles({ query: { channel: 'stable', limit: 1, ...query } })
  const policy = newest && (await client.getPolicyBundle({ params: { bundle_id: newest.bundle_id }, query })).policy
  const named: [string, { description: string; members: string[] }][] = []
  for (const { group_id, name, description } of groups.filter(({ source }) => source === 'local')) {
    const users = await everyOne((page) => client.listUsers({ query: { group_id, ...query, ...page } }))
    named.push([name, { description, members: users.map((user) => user.username) }])
  }
  return {
    format: 'holdfast.config/1',
    security: await client.getSecuritySettings({ query }),
    enrollment: { install_templates, download_urls },
    notifications: { email: ofEmail, webhook: { enabled: webhook.enabled, kinds: webhook.kinds } },
    groups: Object.fromEntries(named),
    gateway_pools: Object.fromEntries(
      pools.map(({ name, pool_id: _, tenant_id: __, gateways: ___, created_at: ____, updated_at: _____, ...set }) => [
        name,
        set,
      ]),
    ),
    ...(policy && { policy: { stable: policy as Record<string, unknown> } }),
  }
}
