import type { Output } from '@holdfast/contract'
import type { listAuditEvents } from '@holdfast/contract/audit'
import { type AuditKind, auditKinds } from '@holdfast/contract/audit-fields'
import { Device } from '@holdfast/contract/devices'
import { DirectorySource } from '@holdfast/contract/directory-sources'
import { EnrollmentSettings } from '@holdfast/contract/enrollment-settings'
import { IdentityProvider } from '@holdfast/contract/federation'
import { Gateway, GatewayPool } from '@holdfast/contract/gateways'
import { Group } from '@holdfast/contract/groups'
import { updateNotificationSettings } from '@holdfast/contract/notifications'
import { PolicyBundle } from '@holdfast/contract/policy'
import { Retention } from '@holdfast/contract/retention'
import { SecuritySettings } from '@holdfast/contract/settings'
import { SiemConnector } from '@holdfast/contract/siem'
import { Plan, Tenant } from '@holdfast/contract/tenants'
import { Release } from '@holdfast/contract/updates'
import { User } from '@holdfast/contract/users'
import { SavedView } from '@holdfast/contract/views'
import { idPrefixes, type Noun } from '@holdfast/contract/vocabulary'
import type { TSchema } from 'typebox'
import { decodeId } from '../../../src/kernel/ids.ts'

export type AuditEvent = Output<typeof listAuditEvents>['items'][number]
type WithFields = { properties?: Record<string, TSchema> }

/** The field names of a noun; fields within others appear as `outer.inner`. */
const namesOf = (schema: TSchema, before = ''): string[] =>
  Object.entries((schema as WithFields).properties ?? {}).flatMap(([name, inner]) => [
    `${before}${name}`,
    ...namesOf(inner, `${before}${name}.`),
  ])

/** The noun of each kind, by the first word of the kind. */
const nouns: Readonly<Record<string, TSchema>> = {
  user: User,
  group: Group,
  device: Device,
  gateway_pool: GatewayPool,
  gateway: Gateway,
  identity_provider: IdentityProvider,
  directory_source: DirectorySource,
  policy: PolicyBundle,
  tenant: Tenant,
  plan: Plan,
  release: Release,
  siem_connector: SiemConnector,
  view: SavedView,
  security_settings: SecuritySettings,
  enrollment_settings: EnrollmentSettings,
  notification_settings: updateNotificationSettings.body,
  retention: Retention,
}
/** Kinds without a noun of their own, with the fields that their changes may name. */
const others: Readonly<Partial<Record<AuditKind, readonly string[]>>> = {
  'posture.reported': ['verdict'],
  'policy.draft_updated': ['name', 'digest', 'base'],
}

const secretNames = /secret|password|token|jwe|digest_of|seed|code/
const harmless = ['webhook.secret_set', 'password_set', 'token_id']
/** A bare UUID: events name objects by TypeIDs. Only the request id is no TypeID. */
const bareId = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

/** Returns texts that have the prefix of a TypeID but can't be decoded. */
const brokenIds = (text: string): string[] =>
  (Object.entries(idPrefixes) as [Noun, string][]).flatMap(([noun, prefix]) =>
    [...text.matchAll(new RegExp(`"(${prefix}_[0-9a-z]*)"`, 'g'))].flatMap(([, id = '']) =>
      decodeId(noun, id) ? [] : [id],
    ),
  )

/** Returns the faults in the changes that an event reports. */
export function faultsInChanges({ kind, changes, request_id: _, ...event }: AuditEvent): string[] {
  const noun = nouns[kind.split('.')[0] ?? '']
  const known = others[kind] ?? (noun ? namesOf(noun) : [])
  return [
    ...(auditKinds.includes(kind) ? [] : [`${kind} is no kind`]),
    ...(bareId.test(JSON.stringify([changes, event])) ? [`${kind}: an id that the API does not know`] : []),
    ...brokenIds(JSON.stringify(changes ?? {})).map((id) => `${kind}: ${id} is no id`),
    ...Object.entries(changes ?? {}).flatMap(([field, pair]) => [
      ...(known.includes(field) ? [] : [`${kind}: ${field} is no field of it`]),
      ...(Array.isArray(pair) && pair.length === 2 ? [] : [`${kind}: ${field} is no pair`]),
      ...(JSON.stringify(pair?.[0]) === JSON.stringify(pair?.[1]) && !field.endsWith('url')
        ? [`${kind}: ${field} did not change`]
        : []),
      ...(secretNames.test(field) && !harmless.includes(field) ? [`${kind}: ${field} sounds like a secret`] : []),
    ]),
  ]
}
