import { isDeepStrictEqual } from 'node:util'
import type { Contract, Input } from '@holdfast/contract'
import { type Client, changeGatewayPool, changeNotificationSettings, changeSecuritySettings } from '@holdfast/sdk'
import { fieldsOf, fieldsOfSections, type Step } from './differences.ts'
import type { ConfigDocument } from './document.ts'
import { everyOne } from './every-one.ts'

type Scope = { tenant_id?: string }
type PoolBody = Input<Contract['createGatewayPool']>['body']

/** What has to be done so that everything is as the file says, in an order in which it can be; empty: it is. */
export async function planOf(client: Client, document: ConfigDocument, scope: Scope): Promise<Step[]> {
  return [
    ...(await settingsSteps(client, document, scope)),
    ...(await groupSteps(client, document.groups ?? {}, scope)),
    ...(await poolSteps(client, document.gateway_pools ?? {}, scope)),
    // It names groups and pools.
    ...(await policySteps(client, document.policy, scope)),
  ]
}

async function settingsSteps(
  client: Client,
  { security, notifications }: ConfigDocument,
  query: Scope,
): Promise<Step[]> {
  const steps: Step[] = []
  if (security) {
    const fields = fieldsOfSections(await client.getSecuritySettings({ query }), security)
    const apply = () =>
      changeSecuritySettings(client, security as Parameters<typeof changeSecuritySettings>[1], { query })
    steps.push({ thing: 'security', action: 'update', fields, apply })
  }
  if (notifications) {
    const fields = fieldsOfSections(await client.getNotificationSettings({ query }), notifications)
    const named = notifications as Parameters<typeof changeNotificationSettings>[1]
    const apply = () => changeNotificationSettings(client, named, { query })
    steps.push({ thing: 'notifications', action: 'update', fields, apply })
  }
  return steps.filter(({ fields }) => fields.length > 0)
}

async function poolSteps(client: Client, named: NonNullable<ConfigDocument['gateway_pools']>, query: Scope) {
  if (Object.keys(named).length === 0) return []
  const pools = await everyOne((page) => client.listGatewayPools({ query: { ...query, ...page } }))
  return Object.entries(named).flatMap(([name, given]): Step[] => {
    const thing = `gateway_pool ${name}`
    const body = { name, ...given } as PoolBody
    const is = pools.find((pool) => sameName(pool.name, name))
    if (!is) {
      const apply = () => client.createGatewayPool({ query, body })
      return [{ thing, action: 'create', fields: fieldsOf({}, given), apply }]
    }
    const fields = fieldsOf(is, body)
    const apply = () => changeGatewayPool(client, { params: { pool_id: is.pool_id }, query }, body)
    return fields.length > 0 ? [{ thing, action: 'update', fields, apply }] : []
  })
}

async function groupSteps(client: Client, named: NonNullable<ConfigDocument['groups']>, query: Scope): Promise<Step[]> {
  if (Object.keys(named).length === 0) return []
  const groups = await everyOne((page) => client.listGroups({ query: { ...query, ...page } }))
  const steps: Step[] = []
  for (const [name, { members, ...given }] of Object.entries(named)) {
    const thing = `group ${name}`
    const wanted = { name, ...given }
    const is = groups.find((group) => sameName(group.name, name))
    if (!is) {
      const group = { ...wanted, ...(members && { members }) }
      const apply = () => client.changeGroup({ query, body: { operation: 'create', group } })
      steps.push({ thing, action: 'create', fields: fieldsOf({}, { ...given, ...(members && { members }) }), apply })
      continue
    }
    const group_id = is.group_id
    const fields = fieldsOf(is, wanted)
    let change: NonNullable<Input<Contract['changeGroup']>['body']['group']> = fields.length > 0 ? wanted : {}
    if (members) {
      const users = await everyOne((page) => client.listUsers({ query: { group_id, ...query, ...page } }))
      const [from, to] = [users.map((user) => user.username), members].map((all) => all.map(lower).sort())
      if (!isDeepStrictEqual(from, to)) {
        fields.push({ field: 'members', from, to })
        change = { ...change, members }
      }
    }
    const apply = () => client.changeGroup({ query, body: { operation: 'update', group_id, group: change } })
    if (fields.length > 0) steps.push({ thing, action: 'update', fields, apply })
  }
  return steps
}

async function policySteps(client: Client, wanted: ConfigDocument['policy'], query: Scope): Promise<Step[]> {
  if (!wanted) return []
  const { items } = await client.listPolicyBundles({ query: { channel: 'stable', limit: 1, ...query } })
  const [newest] = items
  const is = newest && (await client.getPolicyBundle({ params: { bundle_id: newest.bundle_id }, query })).policy
  const policy = wanted.stable as NonNullable<Input<Contract['publishPolicy']>['body']['policy']>
  const fields = fieldsOf(is ?? {}, {
    ...Object.fromEntries(Object.keys(is ?? {}).map((key) => [key, undefined])),
    ...policy,
  })
  const apply = () => client.publishPolicy({ query, body: { channel: 'stable', policy, note: 'config apply' } })
  return fields.length > 0 ? [{ thing: 'policy stable', action: 'publish', fields, apply }] : []
}

const lower = (name: string): string => name.toLowerCase()
const sameName = (a: string, b: string): boolean => lower(a) === lower(b)
