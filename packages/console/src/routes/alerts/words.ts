import type { Alert } from '../../shell/open-alerts.ts'

type Kind = Alert['kind']
/** Label and advice for a kind of alert. */
type Words = { label: string; advice: string }

export const kindWords: Readonly<Record<Kind, Words>> = {
  'account.locked': {
    label: 'Account locked',
    advice: 'It opens again by itself. If the person did not try to sign in, ask them to change their password.',
  },
  'break_glass.used': {
    label: 'Break-glass used',
    advice: 'Find out who used it and why. Then give the account a new password.',
  },
  'clock.untrusted': { label: 'Clock is wrong', advice: 'Correct the clock of the server, and keep it with NTP.' },
  'connection.conflict': {
    label: 'Connection in conflict',
    advice: 'Gateway and device disagree about a session. Compare the sessions of both, and end those that are wrong.',
  },
  'connection.stale': {
    label: 'Connection stale',
    advice:
      'The gateway stopped metering, or enforces an older policy. Look whether it is reachable, and at its clock.',
  },
  'connection.unauthorized': {
    label: 'Connection not allowed',
    advice: 'A session is not allowed by the policy. End it, and find out how it began.',
  },
  'device.awaiting_approval': {
    label: 'Devices wait for approval',
    advice: 'Compare names and owners under the pending devices. Approve those that you know, and revoke the others.',
  },
  'directory.failing': {
    label: 'Directory not read',
    advice: 'Users and groups stay as they are. Check the address and the credential of the directory.',
  },
  'directory.held': {
    label: 'Directory run waits',
    advice: 'Nothing was applied. Look at what the run would change, then confirm it or discard it.',
  },
  'directory.recovered': { label: 'Directory is read again', advice: 'Nothing is to be done.' },
  'entitlement.approaching': {
    label: 'Limit comes near',
    advice: 'Remove what is not used, or raise the plan before the limit is reached.',
  },
  'entitlement.at_limit': {
    label: 'Limit reached',
    advice: 'Nothing more can be added. Remove some, or raise the plan.',
  },
  'entitlement.exceeded': {
    label: 'Refused at the limit',
    advice: 'Something was not made. Remove some, or raise the plan.',
  },
  'entitlement.over': { label: 'Over the limit', advice: 'Remove some, or raise the plan.' },
  expiring: { label: 'Expires soon', advice: 'Replace it before it ends.' },
  'gateway.down': {
    label: 'Gateway down',
    advice: 'Look whether its machine runs and reaches this server. Devices move to other gateways of the pool.',
  },
  'license.problem': { label: 'License', advice: 'Install a license that is in force.' },
  'policy.gate_failed': {
    label: 'Canary failed',
    advice: 'The canary policy did not pass its check. Look at the devices of the canary, and mend the policy.',
  },
  'release.halted': {
    label: 'Release halted',
    advice: 'No device gets the release any more. Look at the devices that failed, then resume it or withdraw it.',
  },
  'siem.dead_letters': {
    label: 'Audit events not delivered',
    advice: 'Events wait as dead letters. Mend the receiver, then replay them.',
  },
  'siem.failing': { label: 'Audit forwarding fails', advice: 'Check the receiver. Events are kept and sent later.' },
  'siem.parked': { label: 'Audit forwarding stopped', advice: 'Mend the receiver, then resume the connector.' },
  'tenant.deletion_scheduled': {
    label: 'Tenant is to be deleted',
    advice: 'If that is not wanted, a platform administrator cancels it in time.',
  },
  'update_root.due': { label: 'Root of updates is due', advice: 'The keepers of the root make and sign the next one.' },
  'webhook.disabled': { label: 'Webhook off', advice: 'Mend the receiver, then turn the webhook on again.' },
  'workflow.awaiting_approval': {
    label: 'Workflow waits for approval',
    advice: 'Somebody other than the requester approves it or calls it off. After a day it is called off by itself.',
  },
}

export const severityWords: Readonly<Record<Alert['severity'], string>> = {
  critical: 'Critical',
  warning: 'Warning',
  info: 'Info',
}

/** Returns the page of the alert's subject; undefined if the console has none. */
export function subjectPath({ kind, subject: { type, id } }: Alert): string | undefined {
  if (kind === 'device.awaiting_approval') return '/admin/devices?effective_status=pending'
  if (id === null) return undefined
  if (type === 'device') return `/admin/devices/${id}`
  if (type === 'gateway') return `/admin/sessions?gateway_id=${id}`
  if (type === 'user') return `/admin/devices?user_id=${id}`
  if (type === 'enrollment_token') return `/admin/enrollment?open=${id}`
  if (type === 'release') return `/admin/updates?open=${id}`
  return undefined
}

/** Returns the label of the link to the alert's subject. */
export const openLabel = (alert: Alert): string =>
  alert.kind === 'device.awaiting_approval' ? 'Show pending devices' : `Open ${subjectName(alert)}`

/** Returns the alert's subject in words: "gateway fra-2". */
export function subjectName({ kind, subject: { type, name } }: Alert): string {
  if (kind === 'device.awaiting_approval') return 'Pending devices'
  return name ?? `${type.charAt(0).toUpperCase()}${type.slice(1).replaceAll('_', ' ')}`
}
