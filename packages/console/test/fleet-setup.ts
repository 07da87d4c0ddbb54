import { meteringReport, newVpnSessionId, newWireguardKey } from '../../server/test/support/actors/gateways.ts'
import type { Kit } from '../../server/test/support/deployment/deployment.ts'
import type { SeededDevice } from './fleet-devices.ts'

export type Directory = { userIds: string[]; groupIds: string[] }

const groupNames = ['engineering', 'finance', 'sales', 'support', 'contractors'] as const
const usernames = [
  ...['alice', 'bob', 'carol', 'dave', 'erin', 'frank', 'grace', 'heidi', 'ivan', 'judy', 'kim', 'lena'],
  ...['mallory', 'nina', 'oscar', 'peggy', 'quentin', 'rosa', 'sybil', 'trent', 'ursula', 'victor', 'wendy', 'yusuf'],
] as const

/** Creates users in groups. */
export async function createDirectory(kit: Kit): Promise<Directory> {
  const groupIds: string[] = []
  for (const name of groupNames) {
    const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name } } })
    groupIds.push(group.group_id)
  }
  const userIds: string[] = []
  for (const [i, username] of usernames.entries()) {
    const group_ids = [groupIds[i % groupIds.length]!]
    const user = { username, email: `${username}@corp.example`, display_name: `${nameOf(username)} Example`, group_ids }
    userIds.push((await kit.admin.changeUser({ body: { operation: 'create', user } })).user.user_id)
  }
  return { userIds, groupIds }
}
const nameOf = (username: string) => username.charAt(0).toUpperCase() + username.slice(1)

const pools = [
  { name: 'frankfurt', region: { code: 'eu-1', name: 'Frankfurt', lat: 50.1, lon: 8.7 }, gateways: 4 },
  { name: 'virginia', region: { code: 'us-1', name: 'Virginia', lat: 38.9, lon: -77.4 }, gateways: 3 },
  { name: 'singapore', region: { code: 'ap-1', name: 'Singapore', lat: 1.35, lon: 103.8 }, gateways: 3 },
] as const

export type SeededGateway = {
  made: { gateway: { gateway_id: string }; secret: string }
  load: { version: string; system: { cpu_percent: number; memory_used_bytes: number; memory_total_bytes: number } }
}

/** Registers 10 gateways in three pools, and an eleventh, which never connects, in its own pool. */
export async function createGateways(kit: Kit): Promise<SeededGateway[]> {
  const all: SeededGateway[] = []
  for (const { name, region, gateways } of pools) {
    const { pool_id } = await kit.admin.createGatewayPool({ body: { name, region } })
    for (let i = 1; i <= gateways; i++) {
      const made = await register(kit, pool_id, `${name.slice(0, 3)}-${i}`)
      const cpu_percent = 12 + ((all.length * 17) % 60)
      const memory = { memory_used_bytes: (2 + (all.length % 5)) * 2 ** 30, memory_total_bytes: 8 * 2 ** 30 }
      all.push({ made, load: { version: i === 1 ? '2.4.0' : '2.4.1', system: { cpu_percent, ...memory } } })
    }
  }
  const { pool_id } = await kit.admin.createGatewayPool({ body: { name: 'madrid', region: { code: 'eu-2' } } })
  await register(kit, pool_id, 'mad-1')
  return all
}

const register = (kit: Kit, pool_id: string, name: string) =>
  kit.admin.createGateway({
    params: { pool_id },
    body: {
      name,
      endpoints: [{ host: `${name}.vpn.example`, port: 51_820, proto: 'udp' }],
      public_key: newWireguardKey(),
    },
  })

const documentWith = (cidrs: string[]) => ({
  schema: 'holdfast.policy/1' as const,
  resources: { wiki: { cidrs: ['10.1.0.0/16'], ports: ['tcp/443'] }, git: { cidrs, ports: ['tcp/22', 'tcp/443'] } },
  rules: [
    { id: 'wiki', action: 'allow', from: { any: true }, to: ['wiki'] },
    { id: 'git', action: 'allow', from: { groups: ['engineering'] }, to: ['git'], when: { posture: ['disk'] } },
  ],
  posture_checks: { disk: { expression: 'disk.encrypted == true', remediation: 'Turn on disk encryption.' } },
})

/** Publishes a policy to stable, and a newer one to canary for 10 % of the devices. */
export async function publishPolicies(kit: Kit): Promise<void> {
  const [stable, canary] = [documentWith(['10.2.0.0/16']), documentWith(['10.2.0.0/16', '10.3.0.0/16'])]
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy: stable, note: 'Git wants an encrypted disk' } })
  await kit.admin.publishPolicy({
    body: {
      channel: 'canary',
      policy: canary,
      rollout: { percent: 10 },
      gate: { on_failure: 'rollback' },
      note: 'Git moves to a second network',
    },
  })
}

/** Stores a draft on top of stable: one rule more, one changed, and a test. */
export async function createDraft(kit: Kit): Promise<string> {
  const { items } = await kit.admin.listPolicyBundles({ query: { channel: 'stable', limit: 1 } })
  const document = documentWith(['10.2.0.0/16'])
  const [wiki, git] = document.rules
  const policy = {
    ...document,
    hosts: { printer: '10.4.0.7' },
    rules: [
      { ...wiki, description: 'Everybody reads the wiki' },
      { ...git, from: { groups: ['engineering', 'support'] } },
      { id: 'printer', action: 'allow', from: { groups: ['sales'] }, to: ['printer'], ports: ['tcp/631'] },
    ],
    tests: [{ name: 'sales prints', from: { group: 'sales' }, allow: ['printer:tcp/631'], deny: ['git:tcp/22'] }],
  }
  const { draft_id } = await kit.admin.createPolicyDraft({
    body: {
      name: 'Printer for sales',
      text: `${JSON.stringify(policy, null, 2)}\n`,
      base: { bundle_id: items[0]!.bundle_id },
    },
  })
  return draft_id
}

/** Milliseconds between two reports, as in production: without reports, sessions are shown as stale. */
const reportMs = 60_000

/**
 * Reports sessions of a few devices from each gateway: most are active, some have ended. Repeats the reports of active
 * sessions until the deployment ends.
 */
export async function tellSessions(
  kit: Kit,
  gateways: readonly SeededGateway[],
  devices: readonly SeededDevice[],
): Promise<void> {
  const mb = 2 ** 20
  const reports = gateways.map(({ made }, i) => {
    const own = devices.filter((_, at) => at % gateways.length === i).slice(0, 4)
    const samples = own.map((device, at) => {
      const traffic = { rx_bytes: (at + 1) * (i + 3) * mb, tx_bytes: (at + 2) * (i + 1) * 4 * mb }
      const state: 'ended' | 'active' = at === 3 ? 'ended' : 'active'
      const source_ip = `192.0.2.${i * 10 + at + 1}`
      return { session_id: newVpnSessionId(), device_id: device.id, state, ...traffic, source_ip }
    })
    const load = { active_sessions: own.length, rx_bps: (i + 1) * mb, tx_bps: (i + 2) * mb }
    const client = kit.clientFor(made.secret)
    const idle = samples.map((sample) => ({ ...sample, rx_bytes: 0, tx_bytes: 0 }))
    return (isReported?: (sample: { session_id: string }) => boolean) =>
      client.metering({ body: meteringReport(isReported ? idle.filter(isReported) : samples, { load }) })
  })
  for (const send of reports) await send()
  const again = async () => {
    const { items } = await kit.admin.listSessions({ query: { state: 'active', limit: 200 } })
    const active = new Set(items.map(({ session_id }) => session_id))
    await Promise.all(reports.map((send) => send(({ session_id }) => active.has(session_id))))
  }
  const timer = setInterval(() => void again().catch(() => {}), reportMs)
  kit.after(() => clearInterval(timer))
}
