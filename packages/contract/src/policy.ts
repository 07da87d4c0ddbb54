import { Type } from 'typebox'
import { Channel, PostureVerdict } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { PolicyObject as Document, documentBody } from './policy-body.ts'
import { affectedParties, judging } from './policy-reach.ts'
import { GateTerms, PolicyGate } from './policy-rollout.ts'
import { Closed, Count, Id, Ids, List, ListQuery, NameOf, NamesOf, Nullable, OneOf, Text, Time } from './schema.ts'

export const Digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' })

const TestResult = Closed({
  name: Type.String(),
  passed: Type.Boolean(),
  failures: Type.Array(
    Closed({ target: Type.String(), expected: Type.String(), got: Type.String(), reason: Type.String() }),
  ),
})
const Tests = Closed({ passed: Count, failed: Count, results: Type.Array(TestResult) })
const RuleDiff = {
  rules_added: Type.Array(Type.String()),
  rules_removed: Type.Array(Type.String()),
  rules_changed: Type.Array(Type.String()),
}
const Rollout = Closed({
  percent: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  group_ids: Type.Optional(Ids('group')),
  device_ids: Type.Optional(Ids('device', 10_000)),
})

const Warnings = Type.Array(Type.String(), {
  description: 'Warnings about the cost of the document; for a published version known when `impact.status` is `done`',
})

export const PolicyBundle = Closed(
  {
    bundle_id: Id('policy_bundle'),
    tenant_id: Id('tenant'),
    version: Count,
    channel: Channel,
    digest: Digest,
    previous_digest: Nullable(Digest),
    note: Type.String(),
    published_by: Nullable(Type.String()),
    published_by_name: NameOf('user or API key'),
    published_at: Time,
    current: Type.Boolean({ description: 'True: its channel delivers it now' }),
    rollout: Closed({
      percent: Type.Number(),
      group_ids: Type.Array(Id('group')),
      group_names: NamesOf('groups'),
      device_ids: Type.Array(Id('device')),
    }),
    tests: Tests,
    impact: Closed({
      ...RuleDiff,
      status: OneOf(['running', 'done']),
      devices_examined: Count,
      devices_affected: Count,
      grants_gained: Count,
      grants_lost: Count,
    }),
    warnings: Warnings,
    variants: Count,
    adoption: Closed({ applied: Count, pending: Count }),
    gate: Nullable(PolicyGate),
  },
  { title: 'PolicyBundle' },
)
export const PolicyBundleDetail = Closed(
  { ...PolicyBundle.properties, policy: Document },
  { title: 'PolicyBundleDetail' },
)

export const publishPolicy = endpoint({
  method: 'POST',
  path: '/v1/admin/policy/publish',
  summary: 'Publish a policy to a channel',
  description: 'The body has a document, or names another channel or version whose document is published.',
  access: { by: ['session', 'api_key'], permission: 'policy:publish' },
  audit: 'policy.published',
  bodyLimit: documentBody,
  stepUp: { channel: 'stable' },
  status: 201,
  bodyNames: 100_000,
  body: Closed({
    channel: Channel,
    policy: Type.Optional(Document),
    from: Type.Optional(
      Closed({
        channel: Type.Optional(Channel),
        version: Type.Optional(Type.Integer({ minimum: 1 })),
        digest: Type.Optional(Digest),
      }),
    ),
    rollout: Type.Optional(Rollout),
    previous_digest: Type.Optional(
      Type.Union([Digest, Type.Null()], {
        description: 'Expected current version of the channel; null: none. The answer is 422 if it differs',
      }),
    ),
    note: Type.Optional(Text),
    allow_failing_tests: Type.Optional(Type.Boolean()),
    gate: Type.Optional(GateTerms),
    override_gate: Type.Optional(
      Type.Boolean({
        description:
          'True: publishes to stable although the gate of the canary has not passed. Requires a note with the reason',
      }),
    ),
    supersede: Type.Optional(
      Type.Boolean({ description: 'Required to publish to stable while a canary is active. The canary then ends' }),
    ),
  }),
  response: PolicyBundle,
})

export const listPolicyBundles = endpoint({
  method: 'GET',
  path: '/v1/admin/policy',
  summary: 'List published policy versions',
  access: { by: ['session', 'api_key'], permission: 'policy:read' },
  query: ListQuery({ channel: Type.Optional(Channel) }, ['version'] as const, '-version'),
  response: List(PolicyBundle),
})

export const getPolicyBundle = endpoint({
  method: 'GET',
  path: '/v1/admin/policy/{bundle_id}',
  summary: 'Get a published policy version',
  description: 'The answer contains its document.',
  access: { by: ['session', 'api_key'], permission: 'policy:read' },
  params: Closed({ bundle_id: Id('policy_bundle') }),
  response: PolicyBundleDetail,
  etag: true,
})

export const validatePolicy = endpoint({
  method: 'POST',
  path: '/v1/admin/policy/validate',
  costly: true,
  summary: 'Validate a policy and run its tests',
  description: 'Nothing is published.',
  access: { by: ['session', 'api_key'], permission: 'policy:read' },
  audit: 'policy.validated',
  bodyNames: 100_000,
  bodyLimit: documentBody,
  body: Closed({ policy: Document }),
  response: Closed({
    valid: Type.Boolean(),
    errors: Type.Array(Closed({ field: Type.String(), message: Type.String() })),
    warnings: Warnings,
    tests: Nullable(Tests),
    diff: Nullable(Closed(RuleDiff, { description: 'Differences from the document that stable delivers now' })),
  }),
})

const Condition = Closed({
  property: Type.String(),
  expected: Type.Unknown(),
  actual: Type.Unknown(),
  passed: Type.Boolean(),
})
const Question = {
  device_id: Type.Optional(Id('device')),
  user_id: Type.Optional(Id('user')),
  target: Type.String({
    minLength: 1,
    maxLength: 256,
    description: 'Resource, host, name or address, with an optional port: `wiki`, `wiki:tcp/443` or `10.1.2.3:tcp/22`',
  }),
  at: Type.Optional(Time),
  source_ip: Type.Optional(Type.String({ maxLength: 64 })),
  country: Type.Optional(Type.String({ pattern: '^[A-Z]{2}$' })),
  mfa_at: Type.Optional(Time),
}
const Decision = {
  decision: OneOf(['allow', 'deny']),
  rule_id: Nullable(Type.String()),
  reason: Type.String(),
  valid_until: Nullable(Time),
}

export const explainPolicy = endpoint({
  method: 'POST',
  path: '/v1/admin/policy/explain',
  costly: true,
  summary: 'Explain whether a target can be reached',
  description:
    'The answer names the rules, conditions and facts that allow or deny the target for a device or a user. The policy is the one delivered to the device, the one of a channel, or a given document.',
  access: { by: ['session', 'api_key'], permission: 'policy:read' },
  audit: 'policy.explained',
  bodyNames: 100_000,
  bodyLimit: documentBody,
  body: Closed({ ...Question, ...judging }),
  response: Closed({
    ...Decision,
    decision: OneOf(['allow', 'deny'], {
      description: 'The effective decision: allow only if the policy allows it and nothing else blocks it',
    }),
    policy_decision: OneOf(['allow', 'deny'], { description: 'Decision of the policy rules alone' }),
    blocked_by: Type.Array(
      Closed({
        kind: OneOf(['policy', 'device', 'user', 'lock', 'credential', 'session', 'gateway']),
        detail: Type.String({ description: 'A sentence: "no gateway of pool eu is up"' }),
      }),
      { description: 'Everything that blocks access; empty if it is allowed' },
    ),
    channel: Nullable(
      OneOf(['canary', 'stable'], { description: 'Channel whose policy decided; null: a document was given' }),
    ),
    version: Nullable(Type.Integer({ minimum: 0, description: 'Version of the channel; null: a document was given' })),
    rules: Type.Array(
      Closed({
        rule_id: Type.String(),
        action: OneOf(['allow', 'deny']),
        matched: Type.Boolean(),
        conditions: Type.Array(Condition),
      }),
    ),
    posture: Type.Array(
      Closed({
        check_id: Type.String(),
        passed: Type.Boolean(),
        reason_code: Type.String(),
        expected: Type.Unknown(),
        actual: Type.Unknown(),
      }),
    ),
    would_allow: Type.Array(
      Closed({
        rule_id: Type.String(),
        sentence: Type.String({
          description:
            'Missing condition of the rule, such as "needs group engineering; the device\'s user is in sales"',
        }),
        lacks: Type.Array(Closed({ property: Type.String(), expected: Type.Unknown(), actual: Type.Unknown() })),
      }),
      { description: 'For a denied target: rules that could allow it. The rule that lacks least is first' },
    ),
    posture_verdict: PostureVerdict,
  }),
})

export const simulatePolicy = endpoint({
  method: 'POST',
  path: '/v1/admin/policy/simulate',
  costly: true,
  summary: 'Simulate the publication of a policy',
  description: 'The answer has the decisions of the document, and the devices that its publication would affect.',
  access: { by: ['session', 'api_key'], permission: 'policy:read' },
  audit: 'policy.simulated',
  bodyNames: 100_000,
  bodyLimit: documentBody,
  body: Closed({ policy: Document, questions: Type.Optional(Type.Array(Closed(Question), { maxItems: 200 })) }),
  response: Closed({
    answers: Type.Array(Closed({ target: Type.String(), before: Closed(Decision), after: Closed(Decision) })),
    impact: Closed({
      ...RuleDiff,
      devices_affected: Count,
      grants_gained: Count,
      grants_lost: Count,
      ...affectedParties,
    }),
    tests: Tests,
  }),
})

const Delivered = {
  channel: Channel,
  version: Count,
  digest: Digest,
  seq: Count,
  pointer: Type.String({ description: 'Short-lived JWS (policy-pointer+jwt) over digest, channel, version and seq' }),
}

export const policyDigest = endpoint({
  method: 'GET',
  path: '/v1/policy/digest',
  summary: 'Get the policy digest of the calling device',
  description: '`Prefer: wait=N` with `If-None-Match` holds the request until the policy changes.',
  access: { by: ['device'], permission: 'own' },
  etag: true,
  waits: true,
  response: Closed({ ...Delivered, poll_seconds: Count }),
})

export const policyBundle = endpoint({
  method: 'GET',
  path: '/v1/policy/bundle',
  summary: 'Get the policy bundle of the calling device',
  description: 'The bundle is signed (policy-bundle+jws). `Prefer: wait=N` works as for the digest.',
  access: { by: ['device'], permission: 'own' },
  etag: true,
  waits: true,
  response: Closed({ ...Delivered, bundle: Type.String() }),
})

export const gatewayPolicyBundle = endpoint({
  method: 'GET',
  path: '/v1/gateway/runtime/policy-bundle',
  summary: 'Get the policy bundle of a device',
  description: 'A gateway gets the current bundle of a device that it serves.',
  access: { by: ['gateway'], permission: 'own' },
  etag: true,
  query: Closed({ device_id: Id('device') }),
  response: Closed({ ...Delivered, bundle: Type.String() }),
})
