import type { Contract, Input } from '@holdfast/contract'
import { type Client, overlay, versionOf } from '@holdfast/sdk'
import { canonicalAddress } from '@holdfast/server/kernel/cidr'
import { UsageError } from '../exit.ts'
import { plain } from '../text.ts'
import { fieldsOf, fieldsOfSections, type Step } from './differences.ts'
import type { ConfigDocument } from './document.ts'
import { everyOne } from './every-one.ts'

type Scope = { tenant_id?: string }
type PoolBody = Input<Contract['createGatewayPool']>['body']

/**
 * What has to be done so that everything is as the file says, in an order in which it can be; empty: it is. Each step
 * is refused where what it changes is not what was seen here any more.
 */
export async function planOf(client: Client, document: ConfigDocument, scope: Scope): Promise<Step[]> {
  const steps = [
    ...(await settingsSteps(client, document, scope)),
    ...(await groupSteps(client, document.groups ?? {}, scope)),
    ...(await poolSteps(client, document.gateway_pools ?? {}, scope)),
    // It names groups and pools.
    ...(await policySteps(client, document.policy, scope)),
  ]
  return steps.filter(({ action, fields }) => action === 'create' || fields.length > 0)
}

async function settingsSteps(
  client: Client,
  { security, notifications }: ConfigDocument,
  query: Scope,
): Promise<Step[]> {
  const steps: Step[] = []
  if (security) {
    const is = await client.getSecuritySettings({ query })
    const apply = () =>
      client.updateSecuritySettings({ query, body: overlay(is, security) }, { ifMatch: versionOf(is) })
    steps.push({ thing: 'security', action: 'update', fields: fieldsOfSections(is, security), apply })
  }
  if (notifications) {
    const is = await client.getNotificationSettings({ query })
    const body = overlay<Input<Contract['updateNotificationSettings']>['body']>(is, notifications)
    const apply = () => client.updateNotificationSettings({ query, body }, { ifMatch: versionOf(is) })
    steps.push({ thing: 'notifications', action: 'update', fields: fieldsOfSections(is, notifications), apply })
  }
  return steps
}

async function poolSteps(client: Client, named: NonNullable<ConfigDocument['gateway_pools']>, query: Scope) {
  if (Object.keys(named).length === 0) return []
  const pools = await everyOne((page) => client.listGatewayPools({ query: { ...query, ...page } }))
  const steps: Step[] = []
  for (const [name, given] of Object.entries(named)) {
    const thing = `gateway_pool ${name}`
    const set = given as Omit<PoolBody, 'name'>
    const body = { name, ...set, ...(set.dns && { dns: resolvers(set.dns) }) }
    const found = pools.find((pool) => sameName(pool.name, name))
    if (!found) {
      const apply = () => client.createGatewayPool({ query, body })
      steps.push({ thing, action: 'create', fields: fieldsOf({}, given), apply })
      continue
    }
    const fieldsAt = (pool: typeof found) => fieldsOf({ ...pool, dns: resolvers(pool.dns) }, body)
    if (fieldsAt(found).length === 0) continue
    // Lists show no versions.
    const of = { params: { pool_id: found.pool_id }, query }
    const is = await client.getGatewayPool(of)
    const apply = () => client.updateGatewayPool({ ...of, body: { ...is, ...body } }, { ifMatch: versionOf(is) })
    steps.push({ thing, action: 'update', fields: fieldsAt(is), apply })
  }
  return steps
}

const resolvers = (addresses: readonly string[]) => [
  ...new Set(addresses.map((text) => canonicalAddress(text) ?? text)),
]

async function groupSteps(client: Client, named: NonNullable<ConfigDocument['groups']>, query: Scope): Promise<Step[]> {
  if (Object.keys(named).length === 0) return []
  const groups = await everyOne((page) => client.listGroups({ query: { ...query, ...page } }))
  const idOf = Object.values(named).some(({ members }) => members) ? await idsOfUsers(client, query) : undefined
  const steps: Step[] = []
  for (const [name, { members: usernames, ...given }] of Object.entries(named)) {
    const thing = `group ${name}`
    const members = usernames && [...new Set(usernames.map(lower))].sort()
    const ids = members && idOf && { members: members.map(idOf) }
    const wanted = { name, ...given }
    const found = groups.find((group) => sameName(group.name, name))
    if (!found) {
      const group = { ...wanted, ...ids }
      const apply = () => client.changeGroup({ query, body: { operation: 'create', group } })
      steps.push({ thing, action: 'create', fields: fieldsOf({}, { ...given, ...(members && { members }) }), apply })
      continue
    }
    const { group_id } = found
    const fieldsAt = async (group: typeof found) => {
      if (!members) return fieldsOf(group, wanted)
      const users = await everyOne((page) => client.listUsers({ query: { group_id, ...query, ...page } }))
      const now = users.map((user) => lower(user.username)).sort()
      return fieldsOf({ ...group, members: now }, { ...wanted, members })
    }
    if ((await fieldsAt(found)).length === 0) continue
    // Before its members, so that who comes or goes after they were read makes it stale.
    const is = await client.getGroup({ params: { group_id }, query })
    const fields = await fieldsAt(is)
    const group = {
      ...(fields.some(({ field }) => field !== 'members') && wanted),
      ...(fields.some(({ field }) => field === 'members') && ids),
    }
    const apply = () =>
      client.changeGroup({ query, body: { operation: 'update', group_id, group } }, { ifMatch: versionOf(is) })
    steps.push({ thing, action: 'update', fields, apply })
  }
  return steps
}

/** All are read at once: looked up one by one they would be more requests than anybody may send. */
async function idsOfUsers(client: Client, query: Scope): Promise<(username: string) => string> {
  const users = await everyOne((page) => client.listUsers({ query: { ...query, ...page } }))
  const ids = new Map(users.map(({ username, user_id }) => [lower(username), user_id]))
  return (username) => {
    const id = ids.get(username)
    if (id === undefined) throw new UsageError(`There is no user called ${plain(username)}.`)
    return id
  }
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
  const body = { channel: 'stable', policy, previous_digest: newest?.digest ?? null, note: 'config apply' } as const
  const apply = () => client.publishPolicy({ query, body })
  return [{ thing: 'policy stable', action: 'publish', fields, apply }]
}

const lower = (name: string): string => name.toLowerCase()
const sameName = (a: string, b: string): boolean => lower(a) === lower(b)
