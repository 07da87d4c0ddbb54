import { Type } from 'typebox'
import { Channel } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { documentBody, PolicyObject } from './policy-body.ts'
import { Closed, Count, Id, Nullable, OneOf, Time } from './schema.ts'

/** Most users, groups and devices listed. The counts cover all of them. */
export const namedAtMost = 100

const AffectedUser = Closed({ user_id: Id('user'), username: Nullable(Type.String()), devices: Count })
const AffectedGroup = Closed({
  group_id: Id('group'),
  name: Nullable(Type.String()),
  users: Count,
  devices: Count,
  devices_examined: Type.Integer({ minimum: 0, description: 'All devices of the group that were examined' }),
})
/** Users, groups and devices that gain access, or that lose access. A device may do both. */
const side = (verb: string) =>
  Closed(
    {
      devices: Count,
      devices_without_user: Count,
      users: Count,
      groups: Count,
      first_users: Type.Array(AffectedUser, { description: `Users with a device that ${verb} access; at most 100` }),
      first_groups: Type.Array(AffectedGroup, {
        description: `Groups with a device that ${verb} access; at most 100, largest share first`,
      }),
    },
    { title: verb === 'gains' ? 'AccessGained' : 'AccessLost' },
  )
/** Part of the answer of a simulation. */
export const affectedParties = { gains: side('gains'), loses: side('loses') }

/** The policy that decides a question; default: the one delivered to the device. */
export const judging = {
  channel: Type.Optional(
    OneOf(['canary', 'stable'], {
      description:
        'Channel whose policy decides. Default: the channel of each device. Cannot be combined with `policy`',
    }),
  ),
  policy: Type.Optional(PolicyObject),
}

const ReachingRule = Closed({ rule_id: Type.String(), devices: Count })

export const whoReaches = endpoint({
  method: 'POST',
  path: '/v1/admin/policy/who-reaches',
  costly: true,
  summary: 'List devices and users that reach a target',
  description: 'The answer names the users, groups, devices and rules. The decision ignores whether a gateway is up.',
  access: { by: ['session', 'api_key'], permission: 'policy:read' },
  audit: 'policy.access_listed',
  bodyNames: 100_000,
  bodyLimit: documentBody,
  body: Closed({
    target: Type.String({
      minLength: 1,
      maxLength: 256,
      description:
        'Resource, host, name or address, with an optional port: `wiki`, `wiki:tcp/443` or `10.1.2.3:tcp/22`',
    }),
    ...judging,
    at: Type.Optional(
      Type.String({ format: 'date-time', maxLength: 40, description: 'Time of the decision; default: now' }),
    ),
  }),
  response: Closed(
    {
      target: Type.String(),
      judged_by: OneOf(['delivered', 'canary', 'stable', 'document']),
      version: Nullable(
        Type.Integer({
          minimum: 0,
          description: 'Version of the channel; null: devices have different channels, or a document was given',
        }),
      ),
      at: Time,
      devices_examined: Type.Integer({
        minimum: 0,
        description: 'Number of devices that are not revoked. Suspended, locked and expired devices reach nothing',
      }),
      counts: Closed({ devices: Count, devices_without_user: Count, users: Count, groups: Count }),
      rules: Type.Array(ReachingRule, {
        description: 'Rules that decide, most devices first; at most 100',
      }),
      users: Type.Array(
        Closed({
          user_id: Id('user'),
          username: Nullable(Type.String()),
          devices: Count,
          rule_ids: Type.Array(Type.String(), { description: 'At most 10' }),
        }),
        { description: 'Users with a device that reaches it; at most 100' },
      ),
      groups: Type.Array(
        Closed({ ...AffectedGroup.properties, rule_ids: Type.Array(Type.String(), { description: 'At most 10' }) }),
        {
          description: 'Groups with a device that reaches it; at most 100, largest share first',
        },
      ),
      devices: Type.Array(
        Closed({
          device_id: Id('device'),
          device_name: Nullable(Type.String()),
          user_id: Nullable(Id('user')),
          username: Nullable(Type.String()),
          channel: Channel,
          rule_id: Type.String(),
        }),
        { description: 'At most 100' },
      ),
    },
    { title: 'WhoReaches' },
  ),
})

const Adopted = Closed({ applied: Count, pending: Count })
const seconds = Nullable(Type.Integer({ minimum: 0 }))
const AdoptionTimes = Closed(
  { time_to_50: seconds, time_to_90: seconds, time_to_99: seconds },
  {
    title: 'AdoptionTimes',
    description: 'Seconds from the publication until this percentage had applied it; null: not reached, or unknown',
  },
)

export const getPolicyAdoption = endpoint({
  method: 'GET',
  path: '/v1/admin/policy/{bundle_id}/adoption',
  summary: 'Get the adoption of a policy version over time',
  description:
    'Points follow each 10 seconds for 10 minutes, then each 5 minutes for a day, then each hour for 30 days. A step without a change has no point.',
  access: { by: ['session', 'api_key'], permission: 'policy:read' },
  params: Closed({ bundle_id: Id('policy_bundle') }),
  response: Closed(
    {
      bundle_id: Id('policy_bundle'),
      version: Count,
      channel: Channel,
      published_at: Time,
      running: Type.Boolean({ description: 'True: the version is delivered now, and further points may follow' }),
      devices: AdoptionTimes,
      gateways: AdoptionTimes,
      points: Type.Array(Closed({ at: Time, devices: Adopted, gateways: Adopted }), {
        description:
          'Points in time, oldest first. A figure is valid until the next point. Gateways that have ever reported count as applied if they enforce this version or a newer one',
      }),
    },
    { title: 'PolicyAdoption' },
  ),
})
