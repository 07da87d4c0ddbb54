/**
 * Facts from the schema of OCSF 1.9.0 (schema.ocsf.io), for each class and object that we write: the attributes we
 * might use, without those of profiles. An attribute not named here is unknown.
 */
export type Attribute = {
  type: string
  isRequired: boolean
  isArray: boolean
  /** The allowed numbers, each with its caption, which stands in the sibling field. */
  captions?: Readonly<Record<number, string>>
  sibling?: string
}
export type Shape = { attributes: Readonly<Record<string, Attribute>>; atLeastOne?: readonly string[] }

/** `string!` is required, `user[]` is a list. A type that is not a value type is an object. */
function attributesOf(written: Readonly<Record<string, string>>): Record<string, Attribute> {
  return Object.fromEntries(
    Object.entries(written).map(([name, type]) => [
      name,
      { type: type.replaceAll(/[![\]]/g, ''), isRequired: type.includes('!'), isArray: type.includes('[]') },
    ]),
  )
}
const enumOf = (type: string, sibling: string, captions: Readonly<Record<number, string>>, isRequired = false) => ({
  type,
  sibling,
  isRequired,
  isArray: false,
  captions: { 0: 'Unknown', ...captions, 99: 'Other' },
})
const entity = { name: 'string', uid: 'string' }
const nameOrUid = ['name', 'uid']

export const objects: Readonly<Record<string, Shape>> = {
  metadata: {
    attributes: attributesOf({
      version: 'string!',
      product: 'product!',
      uid: 'string',
      sequence: 'integer',
      event_code: 'string',
      log_name: 'string',
      log_provider: 'string',
      log_level: 'string',
      log_version: 'string',
      source: 'string',
      tenant_uid: 'string',
      correlation_uid: 'string',
      original_event_uid: 'string',
      original_time: 'string',
      labels: 'string[]',
      profiles: 'string[]',
      logged_time: 'timestamp',
      processed_time: 'timestamp',
      modified_time: 'timestamp',
      is_truncated: 'boolean',
      untruncated_size: 'integer',
      type: 'string',
    }),
  },
  product: {
    attributes: attributesOf({ ...entity, vendor_name: 'string', version: 'string', lang: 'string', path: 'string' }),
    atLeastOne: nameOrUid,
  },
  actor: {
    attributes: attributesOf({ user: 'user', session: 'session', app_name: 'string', app_uid: 'string' }),
    atLeastOne: ['process', 'user', 'invoked_by', 'session', 'app_name', 'app_uid'],
  },
  user: {
    attributes: {
      ...attributesOf({
        name: 'string',
        uid: 'string',
        type: 'string',
        domain: 'string',
        full_name: 'string',
        uid_alt: 'string',
        display_name: 'string',
        email_addr: 'email',
        has_mfa: 'boolean',
        groups: 'group[]',
        programmatic_credentials: 'programmatic_credential[]',
      }),
      type_id: enumOf('integer', 'type', { 1: 'User', 2: 'Admin', 3: 'System', 4: 'Service' }),
    },
    atLeastOne: ['account', 'name', 'uid'],
  },
  programmatic_credential: {
    attributes: attributesOf({ uid: 'string!', type: 'string', last_used_time: 'timestamp' }),
  },
  group: {
    attributes: attributesOf({ ...entity, type: 'string', desc: 'string', domain: 'string', privileges: 'string[]' }),
    atLeastOne: nameOrUid,
  },
  managed_entity: {
    attributes: {
      ...attributesOf({ ...entity, type: 'string', version: 'string', data: 'json', user: 'user', group: 'group' }),
      type_id: enumOf('integer', 'type', {
        1: 'Device',
        2: 'User',
        3: 'Group',
        4: 'Organization',
        5: 'Policy',
        6: 'Email',
        7: 'Network Zone',
      }),
    },
    atLeastOne: ['name', 'uid', 'device', 'group', 'org', 'policy', 'user'],
  },
  service: {
    attributes: attributesOf({ ...entity, labels: 'string[]', version: 'string' }),
    atLeastOne: nameOrUid,
  },
  session: {
    attributes: attributesOf({
      uid: 'string',
      uid_alt: 'string',
      uuid: 'string',
      issuer: 'string',
      credential_uid: 'string',
      created_time: 'timestamp',
      expiration_time: 'timestamp',
      expiration_reason: 'string',
      count: 'integer',
      is_mfa: 'boolean',
      is_remote: 'boolean',
      is_vpn: 'boolean',
      terminal: 'string',
    }),
  },
  iam_role: {
    attributes: attributesOf({ ...entity, uid_alt: 'string', privileges: 'string[]' }),
    atLeastOne: nameOrUid,
  },
  api: { attributes: attributesOf({ operation: 'string!', service: 'service', group: 'group', version: 'string' }) },
  network_endpoint: {
    attributes: attributesOf({
      ...entity,
      ip: 'ip',
      hostname: 'string',
      port: 'integer',
      svc_name: 'string',
      domain: 'string',
      type: 'string',
      instance_uid: 'string',
      interface_uid: 'string',
      interface_name: 'string',
      mac: 'string',
    }),
    atLeastOne: [
      ...['ip', 'uid', 'name', 'hostname', 'svc_name', 'instance_uid', 'interface_uid', 'interface_name', 'domain'],
    ],
  },
  http_request: {
    attributes: attributesOf({
      user_agent: 'string',
      uid: 'string',
      version: 'string',
      referrer: 'string',
      http_method: 'string',
      args: 'string',
      length: 'integer',
      body_length: 'integer',
      x_forwarded_for: 'ip[]',
    }),
  },
}

/** Attributes of every class. */
const ofAll = attributesOf({
  activity_name: 'string',
  category_name: 'string',
  class_name: 'string',
  type_name: 'string',
  time: 'timestamp!',
  severity: 'string',
  status: 'string',
  status_code: 'string',
  status_detail: 'string',
  message: 'string',
  metadata: 'metadata!',
  unmapped: 'json',
  raw_data: 'string',
  raw_data_size: 'long',
  timezone_offset: 'integer',
  count: 'integer',
  duration: 'long',
  start_time: 'timestamp',
  end_time: 'timestamp',
  actor: 'actor',
  src_endpoint: 'network_endpoint',
  http_request: 'http_request',
})
const severities = { 1: 'Informational', 2: 'Low', 3: 'Medium', 4: 'High', 5: 'Critical', 6: 'Fatal' }
const categories: Readonly<Record<number, string>> = { 3: 'Identity & Access Management', 6: 'Application Activity' }

function classOf(uid: number, caption: string, activities: readonly string[], written: Record<string, string>): Shape {
  const category = Math.trunc(uid / 1000)
  const one = (sibling: string, value: number, name: string) => ({
    type: 'integer',
    sibling,
    isRequired: true,
    isArray: false,
    captions: { [value]: name },
  })
  const named = Object.fromEntries(activities.map((name, i) => [i + 1, name]))
  return {
    attributes: {
      ...ofAll,
      class_uid: one('class_name', uid, caption),
      category_uid: one('category_name', category, categories[category]!),
      activity_id: enumOf('integer', 'activity_name', named, true),
      severity_id: enumOf('integer', 'severity', severities, true),
      status_id: enumOf('integer', 'status', { 1: 'Success', 2: 'Failure' }),
      type_uid: { type: 'long', isRequired: true, isArray: false },
      ...attributesOf(written),
    },
  }
}

export const schemaClasses: Readonly<Record<number, Shape>> = {
  3002: {
    ...classOf(
      3002,
      'Authentication',
      [
        ...['Logon', 'Logoff', 'Authentication Ticket', 'Service Ticket Request', 'Service Ticket Renew', 'Preauth'],
        'Account Switch',
      ],
      {
        user: 'user!',
        service: 'service',
        dst_endpoint: 'network_endpoint',
        session: 'session',
        is_remote: 'boolean',
        is_mfa: 'boolean',
        is_new_logon: 'boolean',
      },
    ),
    atLeastOne: ['service', 'dst_endpoint'],
  },
  3004: classOf(
    3004,
    'Entity Management',
    [
      ...['Create', 'Read', 'Update', 'Delete', 'Move', 'Enroll', 'Unenroll', 'Enable', 'Disable', 'Activate'],
      ...['Deactivate', 'Suspend', 'Resume'],
    ],
    { entity: 'managed_entity!', updated_entity: 'managed_entity', access_list: 'string[]' },
  ),
  3006: classOf(
    3006,
    'Group Management',
    [
      ...['Assign Privileges', 'Revoke Privileges', 'Add User', 'Remove User', 'Delete', 'Create', 'Add Subgroup'],
      ...['Remove Subgroup', 'Update', 'Attach Policies', 'Detach Policies', 'Assign Roles', 'Remove Roles'],
    ],
    {
      group: 'group!',
      updated_group: 'group',
      subgroup: 'group',
      users: 'user[]',
      iam_roles: 'iam_role[]',
      privileges: 'string[]',
    },
  ),
  3007: classOf(
    3007,
    'User Management',
    [
      ...['Create', 'Update', 'Delete', 'Enable', 'Disable', 'Lock', 'Unlock', 'Password Change', 'Password Reset'],
      ...['Attach Policies', 'Detach Policies', 'Enable MFA Factors', 'Disable MFA Factors', 'Assign Privileges'],
      ...['Remove Privileges', 'Assign Roles', 'Remove Roles', 'Add Programmatic Credentials'],
      'Remove Programmatic Credentials',
    ],
    { user: 'user!', updated_user: 'user', iam_roles: 'iam_role[]', privileges: 'string[]' },
  ),
  6003: classOf(6003, 'API Activity', ['Create', 'Read', 'Update', 'Delete'], {
    actor: 'actor!',
    api: 'api!',
    src_endpoint: 'network_endpoint!',
  }),
}
