import { type Static, Type } from 'typebox'
import { Closed, OneOf } from './schema.ts'

/** Most rules and tests of a document, its most bytes as JSON, and its greatest depth. */
export const POLICY_LIMITS = { bytes: 1024 * 1024, rules: 5_000, tests: 5_000, depth: 32 } as const

const printable = '^[^\\u0000-\\u001f\\u007f]+$'
const optional = Type.Optional

/** A key of `groups`, `hosts`, `resources` and `posture_checks`, and a rule's id. */
export const NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'
const named = <const S extends Parameters<typeof Type.Record>[1]>(
  value: S,
  maxProperties: number,
  description: string,
) => Type.Record(Type.String({ pattern: NAME }), value, { additionalProperties: false, maxProperties, description })
const list = (pattern: string, maxLength: number, maxItems: number, description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength, pattern }), { maxItems, uniqueItems: true, description })
const text = (maxLength: number, description: string) => Type.String({ maxLength, description })

const users = list(printable, 320, 10_000, 'Users by user_id, username or email')
const groups = list(
  printable,
  256,
  2_000,
  'Groups: of this document by name, else of the directory by group_id or name',
)
const cidrs = (description: string) =>
  list('^[0-9A-Fa-f.:/]+$', 49, 4_096, `${description} A bare address is a network of one.`)
const ports = list(
  '^(icmp|(tcp|udp)/(\\*|[0-9]{1,5}(-[0-9]{1,5})?))$',
  16,
  256,
  'Ports: `tcp/443`, `udp/1000-2000`, `tcp/*` or `icmp`. Absent: all of tcp, udp and icmp.',
)
const pool = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: printable,
  description: 'Gateway pool by pool_id or name',
})
const at = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })

const Subjects = Closed(
  {
    users: optional(users),
    groups: optional(groups),
    tags: optional(list('^[a-z0-9][a-z0-9._:-]*$', 64, 2_000, 'Tags of devices')),
    devices: optional(list(printable, 64, 10_000, 'Devices by device_id')),
    any: optional(Type.Boolean({ description: 'Every device of the tenant' })),
  },
  {
    description:
      'A device is meant when any one of the lists names it, its user, one of its groups or one of its tags.',
  },
)

const DocumentGroup = Closed(
  { users: optional(users), groups: optional(groups) },
  {
    description:
      'A group of this document. It may hold directory groups and other groups of this document, without cycles.',
  },
)

const Resource = Closed(
  {
    description: optional(text(1_024, 'For administrators; devices do not see it')),
    cidrs: optional(cidrs('Networks of the resource.')),
    dns: optional(
      list(
        '^(\\*\\.)?[A-Za-z0-9_.-]+$',
        253,
        1_024,
        'DNS names. `*.example.com` stands for every name below example.com, at any depth, not for itself.',
      ),
    ),
    services: optional(
      list('^[A-Za-z0-9][A-Za-z0-9._:-]*$', 128, 1_024, 'Names of services the gateways of the pool know'),
    ),
    ports: optional(ports),
    pool: optional(pool),
  },
  { description: 'What can be reached: at least one of cidrs, dns and services.' },
)

const PostureCheck = Closed({
  description: optional(text(1_024, 'For administrators; devices do not see it')),
  platforms: optional(
    Type.Array(OneOf(['linux', 'macos', 'windows', 'ios', 'android', 'other']), {
      maxItems: 6,
      uniqueItems: true,
      description: 'Platforms of the check; it passes on all others. Absent: every platform.',
    }),
  ),
  expression: Type.String({
    minLength: 1,
    maxLength: 4_096,
    description:
      'Over the reported facts: `disk.encrypted && os.version >= "14.2" && (firewall.enabled || !custom.exempt)`. ' +
      'Operators `&& || ! == != < <= > >= in`, lists in `[]`, `within_last(av.updated_at, 86400)`. Order between texts is ' +
      'that of versions. A missing fact, or one of another type, makes its comparison unknown; unknown never passes, negated or not.',
  }),
  freshness_seconds: optional(
    Type.Integer({ minimum: 60, maximum: 2_592_000, description: 'Maximum age of a report in seconds; default: 3600' }),
  ),
  severity: optional(OneOf(['low', 'medium', 'high', 'critical'], { description: 'Default: medium' })),
  enforcement: optional(
    OneOf(['audit', 'warn', 'enforce'], {
      description: 'Only `enforce` (the default) disables a rule that requires the check; the others only report',
    }),
  ),
  remediation: optional(text(2_000, 'What the user can do; shown on the device')),
})

const Clock = (description: string) =>
  Type.String({ pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$', maxLength: 5, description })
const TimeWindow = Closed(
  {
    days: optional(
      Type.Array(OneOf(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']), {
        minItems: 1,
        maxItems: 7,
        uniqueItems: true,
        description: 'Days on which the window starts. Absent: every day.',
      }),
    ),
    from: Clock('Start in local time, inclusive'),
    to: Clock(
      'End in local time, exclusive. Before `from`: the window ends on the next day. 24:00 is the end of the day.',
    ),
    zone: Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_+/-]+$', description: 'IANA time zone' }),
  },
  {
    description:
      'Local time of the zone: an hour that the clock repeats counts twice, an hour that it skips does not count.',
  },
)

const countryCode = '^[A-Z]{2}$'
const Conditions = Closed(
  {
    posture: optional(list(NAME, 64, 64, 'Posture checks that must pass')),
    time: optional(
      Type.Array(TimeWindow, { minItems: 1, maxItems: 32, description: 'At least one window must be open' }),
    ),
    countries: optional(list(countryCode, 2, 256, 'ISO 3166-1 alpha-2 codes of where the connection comes from')),
    cidrs: optional(cidrs('Networks the connection comes from.')),
    mfa_within_seconds: optional(
      Type.Integer({
        minimum: 1,
        maximum: 31_536_000,
        description: 'Longest time since the user proved a second factor',
      }),
    ),
  },
  {
    description:
      'All must hold. What is unknown (a country, an address, a missing posture report) fails an allow rule and never switches off a deny rule.',
  },
)

const Rule = Closed({
  id: Type.String({ pattern: NAME, description: 'Unique in the document' }),
  description: optional(text(1_024, 'For administrators; devices do not see it')),
  action: OneOf(['allow', 'deny'], {
    description: 'Deny wins over allow, whatever their order; nothing matched is denied',
  }),
  from: Subjects,
  except: optional(Subjects),
  to: Type.Array(Type.String({ minLength: 1, maxLength: 64, pattern: printable }), {
    minItems: 1,
    maxItems: 1_024,
    uniqueItems: true,
    description: 'Resources and hosts by name, networks as CIDR, or `*` for everything',
  }),
  ports: optional(ports),
  when: optional(Conditions),
  via: optional(
    Type.Array(pool, {
      maxItems: 64,
      uniqueItems: true,
      description:
        'Gateway pools the traffic must take. Absent: those of the destination. Not allowed in a deny rule, which counts at every pool.',
    }),
  ),
  expires_at: optional(at('The rule no longer counts from this time on')),
  log: optional(Type.Boolean({ description: 'Gateways record the connections of this rule' })),
})

const addresses = (description: string) => list('^[0-9A-Fa-f.:]+$', 45, 16, description)
const domains = (description: string) => list('^[A-Za-z0-9_.-]+$', 253, 256, description)
const Settings = Closed({
  dns: optional(
    Closed({
      servers: optional(addresses('Addresses of resolvers reached through the tunnel')),
      search_domains: optional(domains('Suffixes tried for short names')),
      match_domains: optional(domains('Only names below these are asked there. Absent: all.')),
    }),
  ),
  split_tunnel: optional(
    Type.Boolean({ description: 'true, or absent: only traffic to resources takes the tunnel; false: all of it' }),
  ),
  mtu: optional(Type.Integer({ minimum: 1_280, maximum: 9_000 })),
  keepalive_seconds: optional(Type.Integer({ minimum: 0, maximum: 3_600, description: '0 sends none' })),
  session_max_seconds: optional(Type.Integer({ minimum: 60, maximum: 2_592_000 })),
  poll_seconds: optional(
    Type.Integer({ minimum: 10, maximum: 86_400, description: 'How often a device asks for its digest' }),
  ),
})

const targets = list(
  printable,
  300,
  256,
  'Resource, host, DNS name or address, each with an optional port: `db:tcp/5432`, `[fd00::1]:udp/53`',
)
const Scalar = [Type.String({ maxLength: 1_024 }), Type.Number(), Type.Boolean()] as const
const Fact = Type.Union([...Scalar, Type.Array(Type.Union([...Scalar]), { maxItems: 256 })])

const PolicyTest = Closed({
  name: Type.String({ minLength: 1, maxLength: 256, pattern: printable }),
  from: Closed(
    {
      user: optional(Type.String({ minLength: 1, maxLength: 320, pattern: printable })),
      group: optional(Type.String({ minLength: 1, maxLength: 256, pattern: printable })),
      tag: optional(Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9][a-z0-9._:-]*$' })),
      device: optional(Type.String({ minLength: 1, maxLength: 64, pattern: printable })),
      platform: optional(
        OneOf(['linux', 'macos', 'windows', 'ios', 'android', 'other'], { description: 'Default: other' }),
      ),
      posture: optional(
        Type.Record(Type.String({ pattern: '^[a-z_][a-z0-9_]*(\\.[a-z_][a-z0-9_]*)*$' }), Fact, {
          additionalProperties: false,
          maxProperties: 256,
          description: 'Facts of a fresh posture report: `{"disk.encrypted": true}`. Absent: no report.',
        }),
      ),
      at: optional(at('When it connects. Absent: when the test runs.')),
      source_ip: optional(Type.String({ minLength: 2, maxLength: 45, pattern: '^[0-9A-Fa-f.:]+$' })),
      country: optional(Type.String({ pattern: countryCode })),
      mfa_age_seconds: optional(Type.Integer({ minimum: 0, maximum: 31_536_000 })),
    },
    { description: 'A device made up for the test: at least one of user, group, tag and device.' },
  ),
  allow: optional(targets),
  deny: optional(targets),
})

/**
 * The document that an administrator writes. The server checks the names that its parts refer to, and returns the
 * position of each error.
 */
export const PolicyDocument = Closed(
  {
    schema: Type.Literal('holdfast.policy/1'),
    groups: optional(
      named(DocumentGroup, 2_000, 'Groups of this document. A name here hides the same name in the directory.'),
    ),
    hosts: optional(
      named(
        Type.String({ minLength: 2, maxLength: 49, pattern: '^[0-9A-Fa-f.:/]+$' }),
        5_000,
        'Names for addresses and networks',
      ),
    ),
    resources: optional(
      named(Resource, 5_000, 'What can be reached, by name. A host and a resource may not share a name.'),
    ),
    posture_checks: optional(named(PostureCheck, 256, 'Conditions on the state of a device, by name')),
    rules: Type.Array(Rule, { maxItems: POLICY_LIMITS.rules, description: 'Their order has no meaning' }),
    settings: optional(Settings),
    tests: optional(Type.Array(PolicyTest, { maxItems: POLICY_LIMITS.tests, description: 'Run before every publish' })),
  },
  { description: 'A policy: access of users and devices to resources, and its conditions' },
)

export type PolicyDocument = Static<typeof PolicyDocument>
export type PolicyRule = PolicyDocument['rules'][number]
export type PolicySubjects = PolicyRule['from']
export type PolicyConditions = NonNullable<PolicyRule['when']>
export type PolicyTimeWindow = NonNullable<PolicyConditions['time']>[number]
export type PolicyResource = NonNullable<PolicyDocument['resources']>[string]
export type PolicyPostureCheck = NonNullable<PolicyDocument['posture_checks']>[string]
export type PolicySettings = NonNullable<PolicyDocument['settings']>
export type PolicyTest = NonNullable<PolicyDocument['tests']>[number]
