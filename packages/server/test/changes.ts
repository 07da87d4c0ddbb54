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
import { decodeId } from '../src/kernel/ids.ts'

export type AuditEvent = Output<typeof listAuditEvents>['items'][number]
type WithFields = { properties?: Record<string, TSchema> }

/** The names of a noun's fields, those inside of others as `outer.inner`. */
const namesOf = (schema: TSchema, before = ''): string[] =>
  Object.entries((schema as WithFields).properties ?? {}).flatMap(([name, inner]) => [
    `${before}${name}`,
    ...namesOf(inner, `${before}${name}.`),
  ])

/** What the first word of a kind is about. */
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
/** Kinds without a noun that a GET shows, and what may be said to change in them. */
const others: Readonly<Partial<Record<AuditKind, readonly string[]>>> = { 'posture.reported': ['verdict'] }

const secretNames = /secret|password|token|jwe|digest_of|seed|code/
const harmless = ['webhook.secret_set', 'password_set', 'token_id']
/** Ids stand on record as the API names them; the one of a request is no TypeID. */
const bareId = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

/** What stands in an event as an id of a noun, and is none. */
const brokenIds = (text: string): string[] =>
  (Object.entries(idPrefixes) as [Noun, string][]).flatMap(([noun, prefix]) =>
    [...text.matchAll(new RegExp(`"(${prefix}_[0-9a-z]*)"`, 'g'))].flatMap(([, id = '']) =>
      decodeId(noun, id) ? [] : [id],
    ),
  )

/** What is wrong with what an event says was changed. */
export function wrongChanges({ kind, changes, request_id: _, ...event }: AuditEvent): string[] {
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
