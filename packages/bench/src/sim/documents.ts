import type { PolicyDocument, PolicyRule } from '@holdfast/contract/policy-document'
import { type Directory, type Facts, groupNames, poolNames } from './directory.ts'
import { tests } from './document-tests.ts'
import type { Random } from './random.ts'

/** The meaning of each posture check, written independently in code: true, false, or null for unknown. */
export const checkMeanings: Record<string, (facts: Facts, now: number) => boolean | null> = {
  disk: (facts) => boolean(facts['disk.encrypted']),
  os_recent: (facts) => {
    const version = facts['os.version']
    return typeof version === 'string' ? !['13.6'].includes(version) : null
  },
  antivirus: (facts, now) => {
    const at = facts['av.updated_at']
    return typeof at === 'string' ? now - Date.parse(at) <= 86_400_000 : null
  },
  exempt: (facts) => boolean(facts['custom.exempt']),
  firewall: (facts) => boolean(facts['firewall.enabled']),
}
const boolean = (fact: unknown): boolean | null => (typeof fact === 'boolean' ? fact : null)

const farFuture = '2099-12-31T00:00:00.000Z'
const databases = ['orders', 'ledger', 'telemetry'] as const
const poolFor = (n: number): string => poolNames[n % poolNames.length] ?? ''

/** The stable policy of the story: some fifty rules over twelve groups. Ids in `directory` must be known. */
export function stableDocument(random: Random, directory: Directory): PolicyDocument {
  const { users, groups, devices } = directory
  const named = random.some(devices, 5).map(({ id }) => id)
  const leads = users.slice(0, 12)
  return {
    schema: 'holdfast.policy/1',
    groups: {
      makers: { groups: ['engineering', 'platform', 'data'] },
      'night-watch': { groups: ['operations', 'support'], users: random.some(users, 3).map(({ email }) => email) },
      trusted: { groups: ['makers', 'security', 'night-watch'] },
      leads: { users: leads.map((u, i) => (i % 3 === 0 ? u.id : i % 3 === 1 ? u.email : u.username)) },
      // Hides the directory's group of that name: its members count by way of this one only.
      legal: { groups: [groups.find(({ name }) => name === 'legal')?.id ?? ''], users: [users[0]?.username ?? ''] },
    },
    hosts: { bastion: '10.90.0.10', printers: '10.91.0.0/24', resolver: 'fd00:91::53' },
    resources: resources(),
    posture_checks: {
      disk: {
        expression: 'disk.encrypted',
        freshness_seconds: 86_400,
        severity: 'high',
        remediation: 'Encrypt the disk.',
      },
      os_recent: {
        platforms: ['macos', 'windows', 'linux'],
        expression: 'os.version >= "14.2"',
        freshness_seconds: 86_400,
        remediation: 'Update the operating system.',
      },
      antivirus: { expression: 'within_last(av.updated_at, 86400)', freshness_seconds: 43_200 },
      exempt: { expression: 'custom.exempt == true' },
      firewall: { expression: 'firewall.enabled', enforcement: 'warn', remediation: 'Turn the firewall on.' },
    },
    rules: [...groupRules(random), ...commonRules(named)],
    settings: {
      dns: { servers: ['10.90.0.53'], match_domains: ['corp.example'] },
      split_tunnel: true,
      mtu: 1400,
      poll_seconds: 30,
    },
    tests: tests(),
  }
}

function resources(): NonNullable<PolicyDocument['resources']> {
  const apps = groupNames.map((group, i) => [
    `app-${group}`,
    {
      cidrs: [`10.${i + 1}.0.0/24`],
      dns: [`${group}.apps.corp.example`],
      ports: ['tcp/443', 'tcp/8443', 'udp/443'],
      pool: poolFor(i),
    },
  ])
  const stores = databases.map((name, i) => [
    `db-${name}`,
    { description: 'PostgreSQL', cidrs: [`10.50.${i}.0/28`], ports: ['tcp/5432'], pool: poolFor(i + 1) },
  ])
  return {
    ...Object.fromEntries([...apps, ...stores]),
    wiki: { dns: ['wiki.corp.example', '*.wiki.corp.example'], ports: ['tcp/443'], pool: 'north' },
    git: { dns: ['git.corp.example'], cidrs: ['10.60.0.0/24', 'fd00:60::/64'], ports: ['tcp/22', 'tcp/443'] },
    vault: { cidrs: ['10.70.0.5'], ports: ['tcp/8200'], pool: 'south' },
    metrics: { services: ['metrics', 'traces'], pool: 'edge' },
    crm: { dns: ['crm.corp.example'], pool: 'north' },
  }
}

/** Two rules for each group: its application, and a database that only sound devices reach. */
const groupRules = (random: Random): PolicyRule[] =>
  groupNames.flatMap((group): PolicyRule[] => [
    { id: `app-${group}`, action: 'allow', from: { groups: [group] }, to: [`app-${group}`], ports: ['tcp/443'] },
    {
      id: `db-${group}`,
      action: 'allow',
      from: { groups: [group] },
      to: [`db-${random.pick(databases)}`],
      when: { posture: ['disk', ...random.some(['os_recent', 'antivirus', 'firewall'], random.between(0, 2))] },
    },
  ])

const commonRules = (named: string[]): PolicyRule[] => [
  {
    id: 'wiki',
    action: 'allow',
    from: { any: true },
    except: { groups: ['contractors'], tags: ['kiosk'] },
    to: ['wiki'],
  },
  { id: 'git-makers', action: 'allow', from: { groups: ['makers'] }, to: ['git'], ports: ['tcp/22'], via: ['edge'] },
  {
    id: 'git-leads',
    action: 'allow',
    from: { groups: ['leads'] },
    except: { tags: ['byod'] },
    to: ['git'],
    via: ['north', 'edge'],
  },
  {
    id: 'vault-trusted',
    action: 'allow',
    from: { groups: ['trusted'] },
    except: { tags: ['quarantine'] },
    to: ['vault'],
    when: { posture: ['disk'] },
    log: true,
  },
  {
    id: 'vault-legal',
    action: 'allow',
    from: { groups: ['legal'] },
    to: ['vault'],
    when: { mfa_within_seconds: 3_600 },
  },
  { id: 'metrics-servers', action: 'allow', from: { tags: ['server'] }, to: ['metrics'] },
  { id: 'metrics-data', action: 'allow', from: { groups: ['data'] }, to: ['metrics'], expires_at: farFuture },
  {
    id: 'bastion-night',
    action: 'allow',
    from: { groups: ['night-watch'] },
    to: ['bastion'],
    ports: ['tcp/22'],
    via: ['south'],
    when: {
      time: [
        { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '20:00', to: '06:00', zone: 'Europe/Berlin' },
        { days: ['sat', 'sun'], from: '00:00', to: '24:00', zone: 'Europe/Berlin' },
      ],
    },
  },
  {
    id: 'bastion-day',
    action: 'allow',
    from: { groups: ['operations'] },
    to: ['bastion'],
    ports: ['tcp/22', 'icmp'],
    via: ['south'],
    when: { time: [{ from: '06:00', to: '20:00', zone: 'America/New_York' }] },
  },
  {
    id: 'crm-sales',
    action: 'allow',
    from: { groups: ['sales'] },
    to: ['crm'],
    when: { countries: ['DE', 'FR', 'CH'] },
  },
  {
    id: 'crm-support',
    action: 'allow',
    from: { groups: ['support'] },
    to: ['crm'],
    when: { cidrs: ['192.0.2.0/24', '2001:db8::/32'] },
  },
  {
    id: 'printers-kiosk',
    action: 'allow',
    from: { tags: ['kiosk'] },
    to: ['printers'],
    ports: ['tcp/631', 'tcp/9100-9102'],
    via: ['edge'],
  },
  {
    id: 'resolver-any',
    action: 'allow',
    from: { groups: ['design', 'people'] },
    to: ['resolver'],
    ports: ['udp/53', 'tcp/53'],
    via: ['south'],
  },
  {
    id: 'named-devices',
    action: 'allow',
    from: { devices: named },
    to: ['10.99.0.0/16'],
    ports: ['tcp/*'],
    via: ['north'],
  },
  {
    id: 'break-glass',
    action: 'allow',
    from: { users: ['user-00001'] },
    to: ['*'],
    when: { posture: ['disk', 'antivirus'], mfa_within_seconds: 300 },
  },
  {
    id: 'no-data-by-night',
    action: 'deny',
    from: { any: true },
    except: { groups: ['operations'] },
    to: ['10.50.0.0/16'],
    when: { time: [{ from: '22:00', to: '06:00', zone: 'Europe/Berlin' }] },
  },
  {
    id: 'lab-in-office-hours',
    action: 'allow',
    from: { any: true },
    to: ['10.98.0.0/16', 'fd00:98::/48'],
    ports: ['tcp/1-1024', 'udp/*', 'icmp'],
    via: ['north', 'edge'],
    when: {
      time: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sun'], from: '09:00', to: '14:45', zone: 'Europe/Berlin' }],
    },
  },
  {
    id: 'no-lab-core',
    action: 'deny',
    from: { tags: ['byod'] },
    to: ['10.98.7.0/24'],
    ports: ['tcp/22-23', 'udp/161'],
  },
  { id: 'no-vault-contractors', action: 'deny', from: { groups: ['contractors'] }, to: ['vault', 'db-ledger'] },
  { id: 'no-vault-byod', action: 'deny', from: { tags: ['byod'] }, to: ['vault'] },
  {
    id: 'no-vault-exempt',
    action: 'deny',
    from: { groups: ['trusted', 'leads'] },
    to: ['vault'],
    when: { posture: ['exempt'] },
  },
  {
    id: 'no-quarantine',
    action: 'deny',
    from: { tags: ['quarantine'] },
    except: { groups: ['security'] },
    to: ['10.0.0.0/8', '*'],
  },
  { id: 'no-crm-abroad', action: 'deny', from: { groups: ['sales'] }, to: ['crm'], when: { countries: ['US'] } },
]

/** The stable policy with one more rule for everybody; it identifies devices on the canary. */
export const canaryDocument = (stable: PolicyDocument): PolicyDocument => ({
  ...stable,
  resources: { ...stable.resources, beacon: { cidrs: ['10.200.0.1'], ports: ['tcp/443'], pool: 'edge' } },
  rules: [...stable.rules, { id: 'canary-beacon', action: 'allow', from: { any: true }, to: ['beacon'] }],
})

/** Opens a second port of one group's application. */
export const revisedDocument = (stable: PolicyDocument, group: string): PolicyDocument => ({
  ...stable,
  rules: stable.rules.map((rule) => (rule.id === `app-${group}` ? { ...rule, ports: ['tcp/443', 'tcp/8443'] } : rule)),
  tests: (stable.tests ?? []).filter(({ name }) => name !== `${group} reaches its own application`),
})
