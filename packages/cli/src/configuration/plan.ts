import type { Contract, Input } from '@holdfast/contract'
import { canonicalPolicy } from '@holdfast/contract/policy-forms'
import { type Client, overlay, versionOf } from '@holdfast/sdk'
import { canonicalAddress } from '@holdfast/server/kernel/cidr'
import { fieldsOf, fieldsOfSections, type Step } from './differences.ts'
import type { ConfigDocument } from './document.ts'
import { everyOne } from './every-one.ts'
import { problemsOf } from './problems.ts'

type Scope = { tenant_id?: string }
type PoolBody = Input<Contract['createGatewayPool']>['body']

/**
 * Returns the changes that make the configuration equal to the file, in a possible order; none if it is equal. Each
 * change is refused if its target has changed since. `problems`: the reasons why the plan can't be applied.
 */
export async function planOf(
  client: Client,
  document: ConfigDocument,
  scope: Scope,
  { removesAllRules = false }: { removesAllRules?: boolean | undefined } = {},
): Promise<{ steps: Step[]; problems: string[] }> {
  const problems: string[] = []
  const planned = [
    ...(await settingsSteps(client, document, scope, problems)),
    ...(await groupSteps(client, document.groups ?? {}, scope, problems)),
    ...(await poolSteps(client, document.gateway_pools ?? {}, scope)),
    // Last, since it names groups and pools.
    ...(await policySteps(client, document.policy, scope)),
  ]
  if (!removesAllRules && planned.some(isRemovalOfAllRules))
    problems.push(
      'policy stable: has no rules, and the policy in force has some, so nobody would reach anything; remove policy from the file to keep it, or add --remove-all-rules',
    )
  const steps = planned.filter(({ action, fields }) => action === 'create' || fields.length > 0)
  return { steps, problems: [...problems, ...(await problemsOf(client, steps, scope))] }
}

async function settingsSteps(
  client: Client,
  { security, enrollment, notifications }: ConfigDocument,
  query: Scope,
  problems: string[],
): Promise<Step[]> {
  const steps: Step[] = []
  if (security) {
    const is = await client.getSecuritySettings({ query })
    const body = overlay<Input<Contract['updateSecuritySettings']>['body']>(is, security)
    const apply = () => client.updateSecuritySettings({ query, body }, { ifMatch: versionOf(is) })
    const made = { operation: 'updateSecuritySettings', body, apply } as const
    steps.push({ thing: 'security', action: 'update', fields: fieldsOfSections(is, security), ...made })
  }
  if (enrollment) {
    const is = await client.getEnrollmentSettings({ query })
    const body = overlay<Input<Contract['updateEnrollmentSettings']>['body']>(is, enrollment)
    const apply = () => client.updateEnrollmentSettings({ query, body }, { ifMatch: versionOf(is) })
    const made = { operation: 'updateEnrollmentSettings', body, apply } as const
    steps.push({ thing: 'enrollment', action: 'update', fields: fieldsOfSections(is, enrollment), ...made })
  }
  if (notifications) {
    const is = await client.getNotificationSettings({ query })
    if (notifications.email?.enabled === true && !is.email.available && !is.email.enabled)
      problems.push('notifications: email.enabled needs a mail server. The operator sets it with HOLDFAST_SMTP_URL')
    const body = overlay<Input<Contract['updateNotificationSettings']>['body']>(is, notifications)
    const apply = () => client.updateNotificationSettings({ query, body }, { ifMatch: versionOf(is) })
    const made = { operation: 'updateNotificationSettings', body, apply } as const
    steps.push({ thing: 'notifications', action: 'update', fields: fieldsOfSections(is, notifications), ...made })
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
      steps.push({ thing, action: 'create', fields: fieldsOf({}, given), operation: 'createGatewayPool', body, apply })
      continue
    }
    const fieldsAt = (pool: typeof found) => fieldsOf({ ...pool, dns: resolvers(pool.dns) }, body)
    if (fieldsAt(found).length === 0) continue
    // Lists contain no versions.
    const of = { params: { pool_id: found.pool_id }, query }
    const is = await client.getGatewayPool(of)
    const whole = { ...is, ...body }
    const apply = () => client.updateGatewayPool({ ...of, body: whole }, { ifMatch: versionOf(is) })
    steps.push({ thing, action: 'update', fields: fieldsAt(is), operation: 'updateGatewayPool', body: whole, apply })
  }
  return steps
}

const resolvers = (addresses: readonly string[]) => [
  ...new Set(addresses.map((text) => canonicalAddress(text) ?? text)),
]

async function groupSteps(
  client: Client,
  named: NonNullable<ConfigDocument['groups']>,
  query: Scope,
  problems: string[],
): Promise<Step[]> {
  if (Object.keys(named).length === 0) return []
  const groups = await everyOne((page) => client.listGroups({ query: { ...query, ...page } }))
  const idOf = Object.values(named).some(({ members }) => members) ? await idsOfUsers(client, query) : undefined
  const steps: Step[] = []
  for (const [name, { members: usernames, ...given }] of Object.entries(named)) {
    const thing = `group ${name}`
    const members = usernames && [...new Set(usernames.map(lower))].sort()
    const unknown = members?.filter((username) => idOf?.(username) === undefined) ?? []
    for (const username of unknown) problems.push(`${thing}: there is no user called ${username}`)
    const ids = members && idOf && { members: members.flatMap((username) => idOf(username) ?? []) }
    const wanted = { name, ...given }
    const found = groups.find((group) => sameName(group.name, name))
    if (!found) {
      const group = { ...wanted, ...ids }
      const body = { operation: 'create', group } as const
      const apply = () => client.changeGroup({ query, body })
      const fields = fieldsOf({}, { ...given, ...(members && { members }) })
      steps.push({ thing, action: 'create', fields, operation: 'changeGroup', body, apply })
      continue
    }
    const { group_id, source } = found
    if (members && source !== 'local') {
      problems.push(`${thing}: its members come from a directory, so a file cannot set them`)
      continue
    }
    const fieldsAt = async (group: typeof found) => {
      if (!members) return fieldsOf(group, wanted)
      const users = await everyOne((page) => client.listUsers({ query: { group_id, ...query, ...page } }))
      const now = users.map((user) => lower(user.username)).sort()
      return fieldsOf({ ...group, members: now }, { ...wanted, members })
    }
    if ((await fieldsAt(found)).length === 0) continue
    // Read before its members, so that a later change of members makes the version stale.
    const is = await client.getGroup({ params: { group_id }, query })
    const fields = await fieldsAt(is)
    const group = {
      ...(fields.some(({ field }) => field !== 'members') && wanted),
      ...(fields.some(({ field }) => field === 'members') && ids),
    }
    const body = { operation: 'update', group_id, group } as const
    const apply = () => client.changeGroup({ query, body }, { ifMatch: versionOf(is) })
    steps.push({ thing, action: 'update', fields, operation: 'changeGroup', body, apply })
  }
  return steps
}

/** Reads all users at once: single look-ups would exceed the rate limit. */
async function idsOfUsers(client: Client, query: Scope): Promise<(username: string) => string | undefined> {
  const users = await everyOne((page) => client.listUsers({ query: { ...query, ...page } }))
  const ids = new Map(users.map(({ username, user_id }) => [lower(username), user_id]))
  return (username) => ids.get(username)
}

async function policySteps(client: Client, wanted: ConfigDocument['policy'], query: Scope): Promise<Step[]> {
  if (!wanted) return []
  const { items } = await client.listPolicyBundles({ query: { channel: 'stable', limit: 1, ...query } })
  const [newest] = items
  const is = newest && (await client.getPolicyBundle({ params: { bundle_id: newest.bundle_id }, query })).policy
  const policy = wanted.stable as NonNullable<Input<Contract['publishPolicy']>['body']['policy']>
  // The server stores the canonical form, so only that shows what differs.
  const canonical = canonicalPolicy(policy).document as typeof policy
  const fields = fieldsOf(is ?? {}, {
    ...Object.fromEntries(Object.keys(is ?? {}).map((key) => [key, undefined])),
    ...canonical,
  })
  const body = { channel: 'stable', policy, previous_digest: newest?.digest ?? null, note: 'config apply' } as const
  const apply = () => client.publishPolicy({ query, body })
  return [{ thing: 'policy stable', action: 'publish', fields, operation: 'publishPolicy', body, apply }]
}

/** True if a policy with rules is replaced by one without. This is rarely intended, and it ends all access. */
const isRemovalOfAllRules = ({ operation, fields }: Step): boolean =>
  operation === 'publishPolicy' &&
  fields.some(({ field, from, to }) => field === 'rules' && lengthOf(from) > 0 && lengthOf(to) === 0)
const lengthOf = (rules: unknown): number => (Array.isArray(rules) ? rules.length : 0)

const lower = (name: string): string => name.toLowerCase()
const sameName = (a: string, b: string): boolean => lower(a) === lower(b)
