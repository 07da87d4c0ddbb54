import { type Static, Type } from 'typebox'
import { DocumentGroup, list, printable, Subjects, type SubjectWord, testSubjects } from './policy-subjects.ts'
import { Closed, OneOf } from './schema.ts'

/** Limits of a document: rules, tests, bytes as JSON, and depth of nesting. */
export const POLICY_LIMITS = { bytes: 1024 * 1024, rules: 5_000, tests: 5_000, depth: 32 } as const

const optional = Type.Optional

/** A key of `groups`, `hosts`, `resources` and `posture_checks`, and a rule's id. */
export const NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'
const named = <const S extends Parameters<typeof Type.Record>[1]>(
  value: S,
  maxProperties: number,
  description: string,
) => Type.Record(Type.String({ pattern: NAME }), value, { additionalProperties: false, maxProperties, description })
const text = (maxLength: number, description: string) => Type.String({ maxLength, description })

const cidrs = (description: string) =>
  list('^[0-9A-Fa-f.:/]+$', 49, 4_096, `${description} An address without a prefix is a network of one address.`)
const ports = list(
  '^(icmp|(tcp|udp)/(\\*|[0-9]{1,5}(-[0-9]{1,5})?))$',
  16,
  256,
  'Ports: `tcp/443`, `udp/1000-2000`, `tcp/*` or `icmp`. Absent: all ports of tcp and udp, and icmp.',
)
const pool = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: printable,
  description: 'Gateway pool, by pool_id or name',
})
const at = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })

const Resource = Closed(
  {
    description: optional(text(1_024, 'A note for administrators. Devices do not get it.')),
    cidrs: optional(cidrs('Networks of the resource.')),
    dns: optional(
      list(
        '^(\\*\\.)?[A-Za-z0-9_.-]+$',
        253,
        1_024,
        'DNS names. `*.example.com` means every name below example.com, at any depth. It does not mean example.com.',
      ),
    ),
    services: optional(
      list(
        '^[A-Za-z0-9][A-Za-z0-9._:-]*$',
        128,
        1_024,
        'Names of services. Each gateway has the addresses of its services.',
      ),
    ),
    ports: optional(ports),
    pool: optional(pool),
  },
  { description: 'A set of addresses and names, with ports. Needs at least one of cidrs, dns and services.' },
)

const PostureCheck = Closed({
  description: optional(text(1_024, 'A note for administrators. Devices do not get it.')),
  platforms: optional(
    Type.Array(OneOf(['linux', 'macos', 'windows', 'ios', 'android', 'other']), {
      maxItems: 6,
      uniqueItems: true,
      description: 'Platforms on which the check applies. It passes on all other platforms. Absent: every platform.',
    }),
  ),
  expression: Type.String({
    minLength: 1,
    maxLength: 4_096,
    description:
      'A condition on the reported facts: `disk.encrypted && os.version >= "14.2" && (firewall.enabled || !custom.exempt)`. ' +
      'Operators: `&& || ! == != < <= > >= in`, lists in `[]`, `within_last(av.updated_at, 86400)`. ' +
      '`< <= > >=` compare two texts as versions. A comparison is unknown if its fact is missing or has another type. ' +
      'Only true passes: unknown does not pass, and `!` of unknown is unknown.',
  }),
  freshness_seconds: optional(
    Type.Integer({
      minimum: 60,
      maximum: 2_592_000,
      description: 'Maximum age of a posture report in seconds. Default: 3600',
    }),
  ),
  severity: optional(OneOf(['low', 'medium', 'high', 'critical'], { description: 'Default: medium' })),
  enforcement: optional(
    OneOf(['audit', 'warn', 'enforce'], {
      description:
        '`enforce` (the default): the result of the check decides if a rule applies. `warn`: the device shows the failure. `audit`: only administrators see it.',
    }),
  ),
  remediation: optional(text(2_000, 'Instruction for the user. The device shows it when the check fails.')),
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
        description: 'Days on which the window opens. Absent: every day.',
      }),
    ),
    from: Clock('Local time at which the window opens (inclusive)'),
    to: Clock(
      'Local time at which the window closes (exclusive). Earlier than `from`: it closes on the next day. 24:00 is the end of the day.',
    ),
    zone: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z0-9_+/-]+$',
      description: 'IANA time zone, such as Europe/Berlin',
    }),
  },
  {
    description:
      'A daily window in the local time of a zone. When clocks go back, the repeated hour counts twice. When clocks go forward, the skipped hour does not exist.',
  },
)

const countryCode = '^[A-Z]{2}$'
const Conditions = Closed(
  {
    posture: optional(list(NAME, 64, 64, 'Posture checks, by name. Each must pass.')),
    time: optional(
      Type.Array(TimeWindow, { minItems: 1, maxItems: 32, description: 'Time windows. One of them must be open.' }),
    ),
    countries: optional(
      list(
        countryCode,
        2,
        256,
        'Countries of the source address, as ISO 3166-1 alpha-2 codes. One of them must match.',
      ),
    ),
    cidrs: optional(cidrs('Networks of the source address. One of them must contain it.')),
    mfa_within_seconds: optional(
      Type.Integer({
        minimum: 1,
        maximum: 31_536_000,
        description: 'Maximum time in seconds since the user last used a second factor',
      }),
    ),
  },
  {
    description:
      'Conditions; all must be met. A condition is unknown if its fact is missing (a country, a source address, a posture report). An unknown condition stops an allow rule. It does not stop a deny rule.',
  },
)

const Rule = Closed({
  id: Type.String({ pattern: NAME, description: 'Unique in the document' }),
  description: optional(text(1_024, 'A note for administrators. Devices do not get it.')),
  action: OneOf(['allow', 'deny'], {
    description: 'A deny rule wins over all allow rules. Access that no rule allows is denied.',
  }),
  from: Subjects,
  except: optional(Subjects),
  to: Type.Array(Type.String({ minLength: 1, maxLength: 64, pattern: printable }), {
    minItems: 1,
    maxItems: 1_024,
    uniqueItems: true,
    description: 'Resources and hosts by name, networks as CIDR, or `*` for every destination',
  }),
  ports: optional(ports),
  when: optional(Conditions),
  via: optional(
    Type.Array(pool, {
      maxItems: 64,
      uniqueItems: true,
      description:
        'Gateway pools through which the rule allows access. Absent: the pool of each resource. Not allowed in a deny rule, because a deny rule applies at every pool.',
    }),
  ),
  expires_at: optional(at('Time at which the rule ends')),
  log: optional(
    Type.Boolean({ description: 'true: gateways record the connections that this rule allows. Default: false' }),
  ),
})

const addresses = (description: string) => list('^[0-9A-Fa-f.:]+$', 45, 16, description)
const domains = (description: string) => list('^[A-Za-z0-9_.-]+$', 253, 256, description)
const Settings = Closed({
  dns: optional(
    Closed({
      servers: optional(addresses('IP addresses of DNS servers that devices reach through the tunnel')),
      search_domains: optional(domains('Domains that the device appends to short names')),
      match_domains: optional(domains('Domains whose names go to these DNS servers. Absent: all names.')),
    }),
  ),
  split_tunnel: optional(
    Type.Boolean({
      description:
        'true (the default): only traffic to allowed destinations uses the tunnel. false: all traffic uses it.',
    }),
  ),
  mtu: optional(
    Type.Integer({ minimum: 1_280, maximum: 9_000, description: 'Largest packet in the tunnel, in bytes' }),
  ),
  keepalive_seconds: optional(
    Type.Integer({ minimum: 0, maximum: 3_600, description: 'Seconds between keepalive packets. 0: none' }),
  ),
  session_max_seconds: optional(
    Type.Integer({ minimum: 60, maximum: 2_592_000, description: 'Maximum duration of a VPN session in seconds' }),
  ),
  poll_seconds: optional(
    Type.Integer({
      minimum: 10,
      maximum: 86_400,
      description: 'Seconds between two polls of a device for its policy digest',
    }),
  ),
})

const targets = (description: string) =>
  list(
    printable,
    300,
    256,
    `${description} A resource, a host, a DNS name or an address, each with an optional port: \`db:tcp/5432\`, \`[fd00::1]:udp/53\``,
  )
const Scalar = [Type.String({ maxLength: 1_024 }), Type.Number(), Type.Boolean()] as const
const Fact = Type.Union([...Scalar, Type.Array(Type.Union([...Scalar]), { maxItems: 256 })])

const PolicyTest = Closed({
  name: Type.String({ minLength: 1, maxLength: 256, pattern: printable, description: 'Unique in the document' }),
  from: Closed(
    {
      ...testSubjects,
      platform: optional(
        OneOf(['linux', 'macos', 'windows', 'ios', 'android', 'other'], { description: 'Default: other' }),
      ),
      posture: optional(
        Type.Record(Type.String({ pattern: '^[a-z_][a-z0-9_]*(\\.[a-z_][a-z0-9_]*)*$' }), Fact, {
          additionalProperties: false,
          maxProperties: 256,
          description:
            'Facts of a new posture report: `{"disk.encrypted": true}`. Absent: the device has sent no report.',
        }),
      ),
      at: optional(at('Time of the connection. Absent: the time at which the test runs.')),
      source_ip: optional(
        Type.String({
          minLength: 2,
          maxLength: 45,
          pattern: '^[0-9A-Fa-f.:]+$',
          description: 'Source address of the connection. Absent: unknown',
        }),
      ),
      country: optional(
        Type.String({ pattern: countryCode, description: 'Country of the source address. Absent: unknown' }),
      ),
      mfa_age_seconds: optional(
        Type.Integer({
          minimum: 0,
          maximum: 31_536_000,
          description: 'Seconds since the user last used a second factor. Absent: unknown',
        }),
      ),
    },
    {
      description:
        'A simulated device. Needs at least one of user, group, tag and device. Write each in one form: one text (`group`) or a list (`groups`).',
    },
  ),
  allow: optional(targets('Targets that the device must reach, at least in part.')),
  deny: optional(targets('Targets of which the device must reach no part.')),
})

/**
 * The document that an administrator writes. `from`, `except` and groups have two forms; `canonicalPolicy` makes one of
 * them. The server checks the names that its parts refer to, and returns the position of each error.
 */
export const PolicyDocument = Closed(
  {
    schema: Type.Literal('holdfast.policy/1'),
    groups: optional(
      named(
        DocumentGroup,
        2_000,
        'Groups of this document, by name. A name here hides a directory group of the same name.',
      ),
    ),
    hosts: optional(
      named(
        Type.String({ minLength: 2, maxLength: 49, pattern: '^[0-9A-Fa-f.:/]+$' }),
        5_000,
        'Addresses and networks, by name',
      ),
    ),
    resources: optional(
      named(Resource, 5_000, 'Resources, by name. A resource and a host must not have the same name.'),
    ),
    posture_checks: optional(named(PostureCheck, 256, 'Posture checks, by name')),
    rules: Type.Array(Rule, { maxItems: POLICY_LIMITS.rules, description: 'Rules. Their order has no meaning.' }),
    settings: optional(Settings),
    tests: optional(
      Type.Array(PolicyTest, {
        maxItems: POLICY_LIMITS.tests,
        description: 'Tests. The server runs them before each publish.',
      }),
    ),
  },
  { description: 'A policy document: which devices can reach which destinations, and under which conditions' },
)

type Written = Static<typeof PolicyDocument>
type WrittenRule = Written['rules'][number]
type WrittenTest = NonNullable<Written['tests']>[number]

/** Subjects of a rule in the canonical form: lists. */
export type PolicySubjects = Omit<WrittenRule['from'], SubjectWord>
export type PolicyRule = Omit<WrittenRule, 'from' | 'except'> & { from: PolicySubjects; except?: PolicySubjects }
/** A test in the canonical form: `user` and `device`, `group` or `groups`, `tag` or `tags`. */
export type PolicyTest = Omit<WrittenTest, 'from'> & { from: Omit<WrittenTest['from'], 'users' | 'devices'> }
/** A document in the canonical form: `canonicalPolicy` makes it. */
export type PolicyDocument = Omit<Written, 'groups' | 'rules' | 'tests'> & {
  groups?: Record<string, Pick<PolicySubjects, 'users' | 'groups'>>
  rules: PolicyRule[]
  tests?: PolicyTest[]
}
export type PolicyConditions = NonNullable<PolicyRule['when']>
export type PolicyTimeWindow = NonNullable<PolicyConditions['time']>[number]
export type PolicyResource = NonNullable<Written['resources']>[string]
export type PolicyPostureCheck = NonNullable<Written['posture_checks']>[string]
export type PolicySettings = NonNullable<Written['settings']>
