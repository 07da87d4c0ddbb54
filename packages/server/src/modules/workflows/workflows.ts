import { pageItems } from '@holdfast/contract/limits'
import { Closed, Id, OneOf } from '@holdfast/contract/schema'
import { Type } from 'typebox'
import type { StoredParty } from '../../db/tables/columns.ts'
import { failField } from '../../kernel/app-error.ts'
import { day, minute, second } from '../../kernel/time.ts'
import {
  callOf,
  confirmGateways,
  type Definition,
  definition,
  purge,
  type ReadCurrent,
  reasonField,
  type WorkflowStep,
} from './definition.ts'
import { rotateGatewaySecrets } from './gateway-secrets.ts'
import { revokeDevicesOf, walk } from './steps.ts'

/** Limit of a single operation. */
const most = 10_000
/** Part of a summary: whether a run does all of it. */
const rest = (found: readonly unknown[]) =>
  found.length < most ? '' : `(the first ${most}; run it again for the rest)`
const tooMany = (what: string) => failField('params', `${what}: one run cannot change so many; start with the oldest`)

const publishing = (body: Parameters<typeof callOf<'publishPolicy'>>[1]['body'], summary: string): WorkflowStep => ({
  call: callOf('publishPolicy', { body }),
  summary,
  affects: [{ type: 'policy_channel', id: body.channel, name: body.channel }],
  onError: 'stop',
})

export const workflows = (now: () => Date): readonly Definition[] => [
  definition({
    kind: 'workflow',
    name: 'offboard_user',
    summary: 'Suspend a user, revoke the devices, and optionally delete the account',
    params: Closed({
      user_id: Id('user'),
      delete: Type.Optional(Type.Boolean({ description: 'Also delete the account; its audit events remain' })),
    }),
    permissions: ['users:read', 'users:write', 'devices:write'],
    secondApprover: 'never',
    steps: async ({ user_id, delete: deletes }, look, reason, checks) => {
      const { username } = await look('getUser', { params: { user_id } })
      const warning = await checks.stoppable(user_id)
      const affects = [{ type: 'user', id: user_id, name: username }]
      const suspension = callOf('suspendUser', { body: { user_id, ...reasonField(reason) } })
      const deletion = callOf('changeUser', { body: { operation: 'delete', user_id, ...reasonField(reason) } })
      return [
        { call: suspension, summary: `Suspend the user ${username}${warning}`, affects, onError: 'stop' },
        await revokeDevicesOf(user_id, look, reason, 'stop'),
        ...(deletes
          ? [{ call: deletion, summary: `Delete the user ${username}`, affects, onError: 'stop' as const }]
          : []),
        confirmGateways,
      ]
    },
  }),
  definition({
    kind: 'workflow',
    name: 'expire_stale_devices',
    summary: 'Suspend or revoke devices that have not reported for a long time',
    params: Closed({
      unseen_days: Type.Optional(Type.Integer({ minimum: 7, maximum: 3650, description: 'Default: 90' })),
      revoke: Type.Optional(Type.Boolean({ description: 'For good' })),
    }),
    permissions: ['devices:read', 'devices:write'],
    secondApprover: 'never',
    steps: async ({ unseen_days = 90, revoke }, look, reason) => {
      const stale = await devicesUnseenSince(new Date(now().getTime() - unseen_days * day).toISOString(), look)
      const operation = revoke ? 'revoke' : 'suspend'
      const device_ids = stale.flatMap(({ id }) => id ?? [])
      const body = { operation, device_ids, ...reasonField(reason) } as const
      return stale.length === 0
        ? []
        : [
            {
              call: callOf('changeDevices', { body }),
              summary: `${revoke ? 'Revoke' : 'Suspend'} devices that have not reported for ${unseen_days} days${rest(stale)}`,
              affects: stale,
              onError: 'stop',
            },
            confirmGateways,
          ]
    },
  }),
  definition({
    kind: 'workflow',
    name: 'promote_canary',
    summary: 'Publish the policy document of the canary to stable',
    params: Closed({}),
    permissions: ['policy:read', 'policy:publish'],
    secondApprover: 'never',
    steps: async (_, look) => {
      const { items } = await look('listPolicyBundles', { query: { channel: 'canary', limit: 1 } })
      const [bundle] = items
      if (!bundle?.current) return failField('workflow', 'no canary is active')
      const { version, digest, gate } = bundle
      if (gate && gate.state !== 'passed')
        failField(
          'workflow',
          `the gate of canary version ${version} has not passed: only a publication with override_gate can override it`,
        )
      const body = { channel: 'stable', from: { digest }, note: `promoted version ${version}` } as const
      return [publishing(body, `Publish version ${version} to stable`), confirmGateways]
    },
  }),
  definition({
    kind: 'workflow',
    name: 'rollback_policy',
    summary: 'Publish an earlier policy version again; default: the previous version',
    params: Closed({
      channel: Type.Optional(OneOf(['canary', 'stable'], { description: 'Default: stable' })),
      version: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
    permissions: ['policy:read', 'policy:publish'],
    secondApprover: 'never',
    steps: async ({ channel = 'stable', version: wanted }, look) => {
      const { items } = await look('listPolicyBundles', { query: { channel, limit: 200 } })
      // The newest version may have the content of an older one, published again.
      const before = items.find(({ digest }) => digest !== items[0]?.digest)
      const version = wanted ?? before?.version ?? failField('params.version', `${channel} has no earlier version`)
      const body = { channel, from: { version }, supersede: true, note: `rolled back to version ${version}` } as const
      return [publishing(body, `Publish version ${version} to ${channel} again`), confirmGateways]
    },
  }),
  definition({
    kind: 'workflow',
    name: 'reconcile_sessions',
    summary: 'End VPN sessions that their gateways no longer report',
    params: Closed({
      silent_minutes: Type.Optional(Type.Integer({ minimum: 2, maximum: 1440, description: 'Default: 5' })),
    }),
    permissions: ['sessions:read', 'sessions:terminate'],
    secondApprover: 'never',
    steps: async ({ silent_minutes = 5 }, look, reason) => {
      const since = new Date(now().getTime() - silent_minutes * minute).toISOString()
      const silent: StoredParty[] = []
      const whole = await walk(
        (cursor) =>
          look('listSessions', {
            query: { sort: 'started_at', limit: pageItems.most, ...(cursor !== undefined && { cursor }) },
          }),
        ({ session_id, last_seen_at, device_name }) => {
          if (last_seen_at < since) silent.push({ type: 'vpn_session', id: session_id, name: device_name })
          return silent.length < most ? 'go on' : 'enough'
        },
      )
      if (!whole) tooMany('sessions')
      const session_ids = silent.flatMap(({ id }) => id ?? [])
      const body = { operation: 'terminate', session_ids, block_seconds: 0, ...reasonField(reason) } as const
      const call = callOf('terminateSessions', { body })
      return silent.length === 0
        ? []
        : [
            {
              call,
              summary: `End sessions without reports for ${silent_minutes} minutes${rest(silent)}`,
              affects: silent,
              onError: 'stop',
            },
          ]
    },
  }),
  rotateGatewaySecrets,
  definition({
    kind: 'workflow',
    name: 'prune_retention',
    summary: 'Purge expired data of the tenant now, by the same rules as the hourly purge',
    params: Closed({}),
    permissions: ['audit:read', 'audit:write'],
    secondApprover: 'never',
    steps: async (_, look) => {
      const { classes } = await look('getRetention', {})
      const over = classes.filter((c) => c.over > 0)
      const rows = over.map((c) => `${c.class} ${c.over}`).join(', ')
      const affects = over.map((c) => ({ type: 'retention_class', id: null, name: c.class }))
      return [{ call: purge, summary: `Purge expired rows: ${rows || 'none'}`, affects, onError: 'stop' }]
    },
  }),
  definition({
    kind: 'workflow',
    name: 'rotate_trust_anchors',
    summary: 'Replace the active trust anchor, with an overlap (planned) or at once',
    params: Closed({
      mode: Type.Optional(OneOf(['planned', 'emergency'], { description: 'Default: planned' })),
      overlap_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 365 * (day / second) })),
    }),
    permissions: ['trust:read', 'trust:rotate'],
    secondApprover: ({ mode }) => mode === 'emergency',
    steps: async ({ mode = 'planned', overlap_seconds }, _, reason) => {
      const overlap = overlap_seconds === undefined ? {} : { overlap_seconds }
      const rotation: WorkflowStep = {
        call: callOf('rotateTrustAnchors', { body: { mode, ...overlap, ...reasonField(reason) } }),
        summary: `Rotate the trust anchor (${mode})`,
        affects: [{ type: 'trust_anchor', id: null, name: null }],
        onError: 'stop',
      }
      return [rotation, confirmGateways]
    },
  }),
]

/**
 * Returns active devices, up to the limit of one run. A device that enrolled later cannot have been unseen for that
 * long.
 */
async function devicesUnseenSince(since: string, look: ReadCurrent): Promise<StoredParty[]> {
  const stale: StoredParty[] = []
  const whole = await walk(
    (cursor) =>
      look('listDevices', {
        query: {
          status: 'active',
          sort: 'enrolled_at',
          limit: pageItems.most,
          ...(cursor !== undefined && { cursor }),
        },
      }),
    ({ device_id, name, enrolled_at, last_seen_at }) => {
      if (enrolled_at >= since) return 'enough'
      if ((last_seen_at ?? enrolled_at) < since) stale.push({ type: 'device', id: device_id, name })
      return stale.length < most ? 'go on' : 'enough'
    },
  )
  if (!whole) tooMany('devices')
  return stale
}
