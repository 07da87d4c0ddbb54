import { contract } from '@holdfast/contract'
import { Closed, Id } from '@holdfast/contract/schema'
import type { Permission } from '@holdfast/contract/vocabulary'
import { Type } from 'typebox'
import { failField } from '../../kernel/app-error.ts'
import { callOf, confirmGateways, type Definition, definition, reasonField, type WorkflowStep } from './definition.ts'
import { revokeDevicesOf, revokeKeysSteps } from './steps.ts'

const fallback = 'locked by a playbook'
type LockTarget = { type: 'user' | 'device' | 'gateway' | 'tenant'; id?: string }

const lock = (target: LockTarget, name: string | null, reason: string | undefined, warning = ''): WorkflowStep => ({
  call: callOf('createLock', { body: { target, reason: reason ?? fallback } }),
  summary: (name === null ? 'Lock all devices of the tenant' : `Lock the ${target.type} ${name}`) + warning,
  affects: [{ type: target.type, id: target.id ?? null, name }],
  onError: 'continue',
})

export const playbooks: readonly Definition[] = [
  definition({
    kind: 'playbook',
    name: 'lost_device',
    summary: 'Revoke a device permanently, or lock it until it is found, and confirm that all gateways refuse it',
    params: Closed({
      device_id: Id('device'),
      revoke: Type.Optional(
        Type.Boolean({ description: 'Default: true. False: lock the device instead, which can be undone' }),
      ),
    }),
    permissions: ['devices:read', 'devices:write'],
    secondApprover: 'never',
    steps: async ({ device_id, revoke = true }, look, reason) => {
      const { name } = await look('getDevice', { params: { device_id } })
      const revocation: WorkflowStep = {
        call: callOf('changeDevice', { body: { operation: 'revoke', device_id, ...reasonField(reason) } }),
        summary: `Revoke the device ${name}: its credential, certificates and sessions end`,
        affects: [{ type: 'device', id: device_id, name }],
        onError: 'continue',
      }
      return [revoke ? revocation : lock({ type: 'device', id: device_id }, name, reason), confirmGateways]
    },
  }),
  definition({
    kind: 'playbook',
    name: 'compromised_user',
    summary:
      'Lock a user with sessions and devices, and revoke the API keys and enrollment tokens. Optionally suspend the account and revoke the devices',
    params: Closed({
      user_id: Id('user'),
      suspend: Type.Optional(
        Type.Boolean({ description: 'Also suspend the account; it stays suspended after the release of the lock' }),
      ),
      revoke_devices: Type.Optional(Type.Boolean({ description: 'Also revoke the devices permanently' })),
      revoke_api_keys: Type.Optional(
        Type.Boolean({
          description:
            'Default: true. Permanently revokes the API keys that belong to the user or that the user created, and the enrollment tokens that the user or one of these keys created',
        }),
      ),
    }),
    permissions: ['users:read', 'incidents:run'],
    secondApprover: 'never',
    steps: async ({ user_id, suspend, revoke_devices, revoke_api_keys = true }, look, reason, checks) => {
      const { username } = await look('getUser', { params: { user_id } })
      const warning = await checks.stoppable(user_id)
      const suspension: WorkflowStep = {
        call: callOf('suspendUser', { body: { user_id, ...reasonField(reason) } }),
        summary: `Suspend the user ${username}`,
        affects: [{ type: 'user', id: user_id, name: username }],
        onError: 'continue',
      }
      return [
        lock({ type: 'user', id: user_id }, username, reason, warning),
        ...(revoke_api_keys ? [await revokeKeysSteps(user_id, username, look, reason)] : []),
        ...(suspend ? [suspension] : []),
        ...(revoke_devices ? [await revokeDevicesOf(user_id, look, reason, 'continue')] : []),
        confirmGateways,
      ]
    },
  }),
  definition({
    kind: 'playbook',
    name: 'compromised_gateway',
    summary: 'Lock a gateway: its secret is refused, its sessions end, and no device is directed to it',
    params: Closed({ gateway_id: Id('gateway') }),
    permissions: ['gateways:read', 'incidents:run'],
    secondApprover: 'never',
    steps: async ({ gateway_id }, look, reason) => {
      const { name } = await look('getGateway', { params: { gateway_id } })
      return [lock({ type: 'gateway', id: gateway_id }, name, reason)]
    },
  }),
  definition({
    kind: 'playbook',
    name: 'signing_key_compromise',
    summary: 'Replace a signing key that may be compromised, and invalidate its signatures',
    params: Closed({ signer_id: Id('signer') }),
    permissions: ['trust:read', 'trust:write'],
    secondApprover: 'always',
    steps: async ({ signer_id }, look, reason) => {
      const { purpose, state } = await look('getSigner', { params: { signer_id } })
      if (purpose === 'ca-root' && state === 'active')
        failField('params.signer_id', 'is the active trust anchor: run rotate_trust_anchors with mode emergency')
      const retirement: WorkflowStep = {
        call: callOf('retireSigner', { params: { signer_id }, body: { compromised: true, ...reasonField(reason) } }),
        summary: `Replace and retire the compromised ${purpose} key`,
        affects: [{ type: 'signer', id: signer_id, name: purpose }],
        onError: 'continue',
      }
      return [retirement, confirmGateways]
    },
  }),
  definition({
    kind: 'playbook',
    name: 'lockdown',
    summary: 'Lock every device of the tenant; administrators and gateways continue to work',
    params: Closed({}),
    permissions: ['incidents:run'],
    secondApprover: 'never',
    steps: async (_, __, reason) => [lock({ type: 'tenant' }, null, reason), confirmGateways],
  }),
  definition({
    kind: 'playbook',
    name: 'release_lockdown',
    summary: 'Release the lock of all devices; other locks remain',
    params: Closed({}),
    permissions: ['incidents:read', 'incidents:run'],
    secondApprover: 'never',
    steps: async (_, look, reason) => {
      const { lock_id, target } = await lockOfTenant(look)
      const release: WorkflowStep = {
        call: callOf('releaseLock', { params: { lock_id }, body: reasonField(reason) }),
        summary: 'Release the lock of all devices of the tenant',
        affects: [{ type: 'lock', id: lock_id, name: target.name }],
        onError: 'continue',
      }
      return [release, confirmGateways]
    },
  }),
]

/** Returns the permissions that a caller needs to run a playbook with its default parameters. */
export const playbookPermissions = (name: string): readonly Permission[] => [
  contract.runPlaybook.access.permission,
  ...(playbooks.find((playbook) => playbook.name === name)?.permissions ?? []),
]

async function lockOfTenant(look: Parameters<Definition['steps']>[1]) {
  const { items } = await look('listLocks', { query: { target_type: 'tenant', limit: 1 } })
  return items[0] ?? failField('playbook', 'nothing to release: the tenant is not locked')
}
