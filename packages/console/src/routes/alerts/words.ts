import type { Alert } from '../../shell/open-alerts.ts'

type Kind = Alert['kind']
/** Label and advice for a kind of alert. */
type Words = { label: string; advice: string }

export const kindWords: Readonly<Record<Kind, Words>> = {
  'account.locked': {
    label: 'Account locked',
    advice: 'It unlocks by itself. If the person did not try to sign in, ask them to change their password.',
  },
  'break_glass.used': {
    label: 'Break-glass account used',
    advice: 'Find out who used it and why. Then give the account a new password.',
  },
  'clock.untrusted': { label: 'Clock is wrong', advice: 'Set the clock of the server, and keep it correct with NTP.' },
  'connection.conflict': {
    label: 'Connection in conflict',
    advice: 'Gateway and device disagree about a session. Compare the sessions of both, and end the wrong ones.',
  },
  'connection.stale': {
    label: 'Connection stale',
    advice:
      'The gateway stopped metering, or enforces an older policy. Check that it is reachable and that its clock is right.',
  },
  'connection.unauthorized': {
    label: 'Connection not allowed',
    advice: 'A session is not allowed by the policy. End it, and find out how it started.',
  },
  'device.awaiting_approval': {
    label: 'Devices wait for approval',
    advice: 'Compare names and owners of the pending devices. Approve those that you know, and revoke the others.',
  },
  'directory.failing': {
    label: 'Directory sync fails',
    advice: 'Users and groups stay as they are. Check the address and the credential of the directory.',
  },
  'directory.held': {
    label: 'Directory run is held',
    advice: 'Nothing was applied. Review the changes of the run, then confirm it or cancel it.',
  },
  'directory.recovered': { label: 'Directory sync works again', advice: 'You need to do nothing.' },
  'entitlement.approaching': {
    label: 'Limit almost reached',
    advice: 'Remove unused objects, or upgrade the plan before the limit is reached.',
  },
  'entitlement.at_limit': {
    label: 'Limit reached',
    advice: 'Nothing more can be added. Remove unused objects, or upgrade the plan.',
  },
  'entitlement.exceeded': {
    label: 'Refused at the limit',
    advice: 'An object was not created. Remove unused objects, or upgrade the plan.',
  },
  'entitlement.over': { label: 'Over the limit', advice: 'Remove unused objects, or upgrade the plan.' },
  expiring: { label: 'Expires soon', advice: 'Replace it before it expires.' },
  'gateway.down': {
    label: 'Gateway down',
    advice: 'Check that its machine runs and reaches this server. Devices move to other gateways of the pool.',
  },
  'license.problem': { label: 'License problem', advice: 'Install a license that is in force.' },
  'policy.gate_failed': {
    label: 'Canary failed',
    advice: 'The canary policy did not pass its check. Look at the canary devices, and fix the policy.',
  },
  'release.halted': {
    label: 'Release halted',
    advice: 'No device gets the release any more. Look at the devices that failed, then resume it or withdraw it.',
  },
  'siem.dead_letters': {
    label: 'Audit events not delivered',
    advice: 'Events wait as dead letters. Fix the receiver, then replay them.',
  },
  'siem.failing': { label: 'Audit forwarding fails', advice: 'Check the receiver. Events are kept and sent later.' },
  'siem.parked': { label: 'Audit forwarding stopped', advice: 'Fix the receiver, then enable the connector again.' },
  'tenant.deletion_scheduled': {
    label: 'Tenant will be deleted',
    advice: 'If you do not want this, ask a platform administrator to cancel it in time.',
  },
  'update_root.due': {
    label: 'Update root must be renewed',
    advice: 'The holders of the root keys create and sign the next root.',
  },
  'webhook.disabled': { label: 'Webhook disabled', advice: 'Fix the receiver, then enable the webhook again.' },
  'workflow.awaiting_approval': {
    label: 'Workflow waits for approval',
    advice:
      'A person other than the requester must approve it or cancel it. After a day, it is cancelled automatically.',
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
  if (type === 'user') return `/admin/users/${id}`
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
