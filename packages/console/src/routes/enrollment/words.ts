import type { OutputOf } from '../../api/client.ts'
import { formatCount, formatNumber } from '../../ui/format.ts'
import type { Mark } from '../../ui/status.tsx'

export type Token = OutputOf<'GET /v1/admin/tokens'>['items'][number]
export type Attempt = NonNullable<Token['last_attempt']>
type Reason = NonNullable<Attempt['reason']>

/** Mark and label of each token status. */
export const tokenStatusWords: Readonly<Record<Token['status'], { kind: Mark; label: string }>> = {
  active: { kind: 'ok', label: 'Active' },
  exhausted: { kind: 'off', label: 'Used up' },
  expired: { kind: 'off', label: 'Expired' },
  revoked: { kind: 'off', label: 'Revoked' },
}

export const outcomeWords: Readonly<Record<Attempt['outcome'], { kind: Mark; label: string }>> = {
  enrolled: { kind: 'ok', label: 'Enrolled' },
  refused: { kind: 'bad', label: 'Refused' },
  waiting_for_approval: { kind: 'ring', label: 'Waits for approval' },
}

/** Fact and advice for each reason of a refused attempt. */
export const refusals: Readonly<Record<Reason, { fact: string; advice: string }>> = {
  address_not_allowed: {
    fact: 'The device came from an address that the token does not allow.',
    advice: 'Create a token that allows this address, or run the line in an allowed network.',
  },
  addresses_exhausted: {
    fact: 'The network has no free address for another device.',
    advice: 'Revoke unused devices, or widen the address range of the tenant.',
  },
  bootstrap_token: {
    fact: 'The token is a bootstrap token. It only starts a sign-in and enrolls no device.',
    advice: 'Create a token of the kind "enroll".',
  },
  device_key_in_use: {
    fact: 'Another device uses the same device key.',
    advice: 'Revoke the old device, or let the client create a new key. A copied disk image keeps the old key.',
  },
  expired: { fact: 'The token has expired.', advice: 'Create a new token.' },
  invalid_request: {
    fact: 'The client sent a request that the server does not understand.',
    advice: 'Update the client. The audit log says which field is wrong.',
  },
  key_proof_invalid: {
    fact: 'The device did not prove that it holds its key.',
    advice: 'Check the clock of the device and that it uses the address of this server. Then run the line again.',
  },
  key_proof_missing: {
    fact: 'The client sent no proof of its key.',
    advice: 'Update the client: an old one does not send the proof.',
  },
  key_proof_replayed: {
    fact: 'The client sent the same proof twice.',
    advice: 'Run the line again. If this repeats, a proxy may send requests twice.',
  },
  plan_limit_reached: {
    fact: 'The plan allows no more devices.',
    advice: 'Revoke unused devices, or upgrade the plan. Then run the line again.',
  },
  rate_limited: { fact: 'The device tried too many times.', advice: 'Wait a minute, then run the line again.' },
  revoked: { fact: 'The token was revoked.', advice: 'Create a new token.' },
  server_error: {
    fact: 'The server could not finish the enrollment.',
    advice: 'Run the line again. If this repeats, read the log of the server.',
  },
  tenant_suspended: { fact: 'The tenant is suspended.', advice: 'A platform administrator can reactivate it.' },
  used_up: { fact: 'The token has no uses left.', advice: 'Create a new token.' },
  user_inactive: {
    fact: 'The user of the token is suspended or deleted.',
    advice: 'Reactivate the user, or create a token for another user.',
  },
  user_limit_reached: {
    fact: 'The user has as many devices as the token allows for one person.',
    advice: 'Revoke a device of this user, or create a token that allows more.',
  },
  wireguard_key_in_use: {
    fact: 'Another device uses the same WireGuard key.',
    advice: 'Revoke the old device, or let the client create a new key.',
  },
  wrong_platform: {
    fact: 'The token does not allow the platform of the device.',
    advice: 'Create a token that allows this platform.',
  },
}

export const tokenName = ({ name, hint }: Pick<Token, 'name' | 'hint'>): string => name || `Token ending in ${hint}`

/** Returns "1 of 5", or "3, no limit" if the number of uses is unlimited. */
export const usesOf = ({ uses, max_uses }: Token): string =>
  max_uses === 0 ? `${formatNumber(uses)}, no limit` : `${formatNumber(uses)} of ${formatNumber(max_uses)}`

/** Returns the uses for a sentence: "0 of 1 uses", "3 uses, no limit". */
export const usesInWords = ({ uses, max_uses }: Token): string =>
  max_uses === 0 ? `${formatCount(uses, 'use')}, no limit` : `${formatNumber(uses)} of ${formatCount(max_uses, 'use')}`

/** Returns "one device", "20 devices", "any number of devices". */
export const devicesAllowed = (maxUses: number): string =>
  maxUses === 0 ? 'any number of devices' : maxUses === 1 ? 'one device' : formatCount(maxUses, 'device')

/** Returns the names of groups. Deleted groups have no name. */
export const groupsOf = ({ group_ids, group_names }: Pick<Token, 'group_ids' | 'group_names'>): readonly string[] =>
  group_ids.map((_, i) => group_names[i] ?? 'a deleted group')
