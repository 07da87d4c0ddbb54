import type { AuditKind } from '@holdfast/contract/vocabulary'

/** Classes of OCSF 1.9.0 by name, with their numbers. */
export const ocsfClasses = {
  authentication: { uid: 3002, caption: 'Authentication' },
  entity: { uid: 3004, caption: 'Entity Management' },
  group: { uid: 3006, caption: 'Group Management' },
  user: { uid: 3007, caption: 'User Management' },
  api: { uid: 6003, caption: 'API Activity' },
} as const
export type OcsfClass = keyof typeof ocsfClasses

/** Activities of each class by our own verbs. Any other verb is 99, Other, with the kind as caption. */
const verbs: Record<OcsfClass, Readonly<Record<string, readonly [id: number, caption: string]>>> = {
  authentication: { logon: [1, 'Logon'], logoff: [2, 'Logoff'], preauth: [6, 'Preauth'] },
  entity: {
    created: [1, 'Create'],
    issued: [1, 'Create'],
    updated: [3, 'Update'],
    update: [3, 'Update'],
    deleted: [4, 'Delete'],
    enrolled: [6, 'Enroll'],
    revoke: [7, 'Unenroll'],
    approve: [10, 'Activate'],
    activated: [10, 'Activate'],
    revoked: [11, 'Deactivate'],
    retired: [11, 'Deactivate'],
    suspend: [12, 'Suspend'],
    reactivate: [13, 'Resume'],
  },
  group: { create: [6, 'Create'], update: [9, 'Update'], delete: [5, 'Delete'] },
  user: {
    create: [1, 'Create'],
    update: [2, 'Update'],
    delete: [3, 'Delete'],
    reactivate: [4, 'Enable'],
    suspend: [5, 'Disable'],
    lock: [6, 'Lock'],
    unlock: [7, 'Unlock'],
    password: [8, 'Password Change'],
    mfa_on: [12, 'Enable MFA Factors'],
    mfa_off: [13, 'Disable MFA Factors'],
    grant: [16, 'Assign Roles'],
    revoke: [17, 'Remove Roles'],
    key_on: [18, 'Add Programmatic Credentials'],
    key_off: [19, 'Remove Programmatic Credentials'],
  },
  api: { POST: [1, 'Create'], GET: [2, 'Read'], PUT: [3, 'Update'], PATCH: [3, 'Update'], DELETE: [4, 'Delete'] },
}

/**
 * Kinds mapped by their full name. The others are mapped by their noun. `operation`: the verb is the event's field of
 * that name.
 */
const known: { [K in AuditKind]?: readonly [OcsfClass, verb: string] } = {
  'login.succeeded': ['authentication', 'logon'],
  'login.failed': ['authentication', 'logon'],
  'login.challenged': ['authentication', 'preauth'],
  'session.started': ['authentication', ''],
  'session.stepped_up': ['authentication', ''],
  'session.expired': ['authentication', 'logoff'],
  'account.locked': ['user', 'lock'],
  'user.changed': ['user', 'operation'],
  'user.password_changed': ['user', 'password'],
  'user.break_glass_changed': ['user', 'update'],
  'user.mfa_enrollment_started': ['user', ''],
  'user.mfa_enabled': ['user', 'mfa_on'],
  'user.mfa_disabled': ['user', 'mfa_off'],
  'role.granted': ['user', 'grant'],
  'role.revoked': ['user', 'revoke'],
  'api_key.created': ['user', 'key_on'],
  'api_key.revoked': ['user', 'key_off'],
  'group.changed': ['group', 'operation'],
  'api_key.used': ['api', 'endpoint'],
  // The entity is the target: the locked object.
  'lock.set': ['entity', 'suspend'],
  'lock.released': ['entity', 'reactivate'],
  'legal_hold.placed': ['entity', 'created'],
  'legal_hold.released': ['entity', 'deleted'],
  'siem_connector.parked': ['entity', 'suspend'],
  'siem_connector.resumed': ['entity', 'reactivate'],
  'policy.replayed': ['api', ''],
}
/** Objects that administrators manage. Their kinds map to Entity Management, except refusals, tests and reports. */
const managed = new Set(
  (
    'device device_grant enrollment_token policy gateway gateway_pool identity_provider directory_source ' +
    'security_settings enrollment_settings notification_settings tenant plan signer trust_anchors issuing_ca spc release package update_root ' +
    'siem_connector lock legal_hold retention'
  ).split(' '),
)
const reports = new Set(
  'refused enrollment_refused throttled heartbeat identified metered tested validated simulated explained'.split(' '),
)
function byNoun(kind: string): readonly [OcsfClass, verb: string] {
  const [noun = '', verb = ''] = kind.split('.')
  return [managed.has(noun) && !reports.has(verb) ? 'entity' : 'api', '']
}

type Activity = { of: OcsfClass; id: number; caption: string }

/** `said`: the fields declared by the kind. */
export function ocsfActivityOf(kind: string, eventFields: Record<string, unknown>): Activity {
  const [of, how] = (Object.hasOwn(known, kind) && known[kind as AuditKind]) || byNoun(kind)
  const verb = verbOf(kind, how, eventFields)
  const [id, caption] = (Object.hasOwn(verbs[of], verb) && verbs[of][verb]) || [99, kind]
  return { of, id, caption }
}

function verbOf(kind: string, how: string, { operation, endpoint }: Record<string, unknown>): string {
  if (how === 'endpoint') return String(endpoint).split(' ', 1)[0] ?? ''
  if (how === 'operation' || (how === '' && kind.endsWith('.changed'))) return String(operation)
  return how || (kind.split('.').at(-1) ?? '')
}
