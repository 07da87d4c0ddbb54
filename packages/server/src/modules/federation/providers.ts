import type { IdentityProviderKind } from '@holdfast/contract/vocabulary'
import { seal, unseal } from '@holdfast/crypto'
import type { Tx } from '../../db/database.ts'
import type { PageQuery } from '../../db/page.ts'
import { refuseTaken } from '../../db/taken.ts'
import { type Actor, permissionsOf, type TenantId } from '../../kernel/actor.ts'
import { fail, failField } from '../../kernel/app-error.ts'
import { differences } from '../../kernel/differences.ts'
import { encodeId, missing, newUuid } from '../../kernel/ids.ts'
import type { Expected } from '../../kernel/version.ts'
import { mayHandle } from '../access/index.ts'
import { knownGroups } from '../identity/index.ts'
import type { FederationDeps } from './deps.ts'
import type { LastWay } from './last-way.ts'
import type { Oidc } from './oidc/oidc.ts'
import { defaultScopes, issuerProblem } from './oidc/presets.ts'
import { FederationError } from './proven.ts'
import type { ProviderFields, ProviderRow } from './providers.queries.ts'
import * as queries from './providers.queries.ts'

/** Absent: as it was, which of a new provider is none; null: none. */
type GivenSecret = string | null | undefined
type NewProvider = Partial<Omit<ProviderFields, 'oidc'>> & {
  kind: IdentityProviderKind
  name: string
  oidc: Partial<ProviderFields['oidc']> & Pick<ProviderFields['oidc'], 'issuer' | 'client_id'>
}
type Found = Awaited<ReturnType<Oidc['inspect']>>

const defaults = {
  enabled: true,
  sign_in: true,
  enrollment: false,
  requires_approval: false,
  max_devices_per_user: null,
  provisioning: 'none',
  claims: { username: 'preferred_username', email: 'email', display_name: 'name', groups: 'groups' },
  group_mappings: [],
  role_mappings: [],
} satisfies Partial<ProviderFields>

const noProvider = () => missing('identity_provider')
const nameIndex = 'identity_provider_name_is_unique_in_its_tenant'
const targetOf = ({ provider_id, name }: Pick<ProviderRow, 'provider_id' | 'name'>) => ({
  type: 'identity_provider',
  id: encodeId('identity_provider', provider_id),
  name,
})
const sealContext = (providerId: string) => `identity_providers/${providerId}/client_secret_jwe`

/** With whom the people of a tenant sign in. One that is enabled has been asked for its discovery first. */
export function createProviders({
  db,
  audit,
  changes,
  pager,
  now,
  kek,
  people,
  oidc,
  lastWay,
}: Pick<FederationDeps, 'db' | 'audit' | 'changes' | 'pager' | 'now' | 'kek' | 'people'> & {
  oidc: Pick<Oidc, 'inspect'>
  lastWay: Pick<LastWay, 'hold' | 'refuseLast'>
}) {
  /** One that is not enabled may be prepared before it can be reached. */
  async function check(kind: IdentityProviderKind, fields: ProviderFields, mustAnswer: boolean): Promise<void> {
    const { issuer } = fields.oidc
    const problem = issuerProblem(kind, issuer)
    if (problem) failField('oidc.issuer', problem)
    if (!mustAnswer) return
    try {
      await oidc.inspect({ kind, issuer })
    } catch (e) {
      if (e instanceof FederationError) failField('oidc.issuer', e.message)
      throw e
    }
  }
  const sealed = async (providerId: string, secret: string) => seal(kek, sealContext(providerId), Buffer.from(secret))

  /** Last in its transaction. With a provider that opens no session any more, those that it opened end. */
  async function settle(tx: Tx, actor: Actor, id: string, stillOpens: boolean): Promise<void> {
    const ended = stillOpens ? [] : await people.endSessionsOf(tx, actor, id, null)
    await changes.record(tx, actor.tenantId, [{ kind: 'identity_provider', subject: id }, ...ended])
  }

  async function requireGroups(tx: Tx, tenant: TenantId, { group_mappings: list }: ProviderFields): Promise<void> {
    const known = new Set(await knownGroups(tx, tenant, [...new Set(list.map((m) => m.group_id))]))
    const unknown = list.findIndex((m) => !known.has(m.group_id))
    if (unknown >= 0) failField(`group_mappings[${unknown}].group_id`, 'no such group')
  }

  return {
    list: (tenant: TenantId, query: PageQuery) =>
      db.inTenant(tenant, (tx) =>
        pager.list(queries.selectProviders(tx, tenant), {
          operation: 'listIdentityProviders',
          tenant,
          query,
          orders: {
            name: { column: 'name', kind: 'text' },
            created_at: { column: 'created_at', kind: 'time' },
          },
          otherwise: 'name',
          tie: 'provider_id',
        }),
      ),

    get: async (tenant: TenantId, id: string): Promise<ProviderRow> =>
      (await db.inTenant(tenant, (tx) => queries.findProvider(tx, tenant, id))) ?? noProvider(),

    create: async (actor: Actor, given: NewProvider, secret: GivenSecret): Promise<ProviderRow> => {
      const { kind, ...rest } = given
      const fields: ProviderFields = {
        ...defaults,
        ...rest,
        oidc: { scopes: [...defaultScopes[kind]], mobile_client_ids: [], ...rest.oidc },
      }
      refuseRoles(actor, fields.role_mappings)
      refuseTwice(fields)
      await check(kind, fields, fields.enabled)
      const tenant = actor.tenantId
      const providerId = newUuid()
      const secretJwe = secret ? await sealed(providerId, secret) : null
      return refuseTaken('name', nameIndex, () =>
        db.inTenant(tenant, async (tx) => {
          await requireGroups(tx, tenant, fields)
          await queries.insertProvider(tx, tenant, fields, { providerId, kind, secretJwe, at: now() })
          const made = (await queries.findProvider(tx, tenant, providerId)) ?? noProvider()
          const target = targetOf(made)
          await audit.record(tx, actor, 'identity_provider.created', { provider_id: target.id }, { target })
          await settle(tx, actor, providerId, true)
          return made
        }),
      )
    },

    /** `allow` refuses by what is there, under the row's lock. A change that changes nothing leaves no trace. */
    replace: async (
      actor: Actor,
      id: string,
      { fields, secret }: { fields: ProviderFields; secret: GivenSecret },
      allow: (before: ProviderRow) => void,
    ): Promise<ProviderRow> => {
      const tenant = actor.tenantId
      refuseTwice(fields)
      const known = (await db.inTenant(tenant, (tx) => queries.findProvider(tx, tenant, id))) ?? noProvider()
      const isOther = known.oidc.issuer !== fields.oidc.issuer || !known.enabled
      await check(known.kind, fields, fields.enabled && isOther)
      const newJwe = secret ? await sealed(id, secret) : null
      return refuseTaken('name', nameIndex, () =>
        db.inTenant(tenant, async (tx) => {
          const isShut = !fields.enabled || !fields.sign_in
          if (isShut) await lastWay.hold(tx, tenant)
          const before = (await queries.lockProvider(tx, tenant, id)) ?? noProvider()
          allow(before)
          if (isShut) await lastWay.refuseLast(tx, tenant, before)
          await requireGroups(tx, tenant, fields)
          const secretJwe = secret === undefined ? before.client_secret_jwe : newJwe
          const changed = differences(factsOf(before), factsOf(fields))
          const isNewSecret = secretJwe !== before.client_secret_jwe
          if (Object.keys(changed).length === 0 && !isNewSecret) return before
          refuseRoles(actor, [...before.role_mappings, ...fields.role_mappings])
          await queries.updateProvider(tx, tenant, id, fields, { secretJwe, at: now() })
          const after = (await queries.findProvider(tx, tenant, id)) ?? noProvider()
          const target = targetOf(after)
          const provider_id = target.id
          const details = isNewSecret && { details: { client_secret: secretJwe === null ? 'removed' : 'replaced' } }
          await audit.record(
            tx,
            actor,
            'identity_provider.updated',
            { provider_id },
            { target, changes: changed, ...details },
          )
          await settle(tx, actor, id, after.enabled && after.sign_in)
          return after
        }),
      )
    },

    /** False when it was deleted before. */
    remove: (actor: Actor, id: string, expected: Expected): Promise<boolean> => {
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        await lastWay.hold(tx, tenant)
        const before = await queries.lockProvider(tx, tenant, id)
        if (!before) {
          if (!(await queries.wasDeleted(tx, tenant, id))) return noProvider()
          expected.require(undefined)
          return false
        }
        expected.require(versionOf(before))
        await lastWay.refuseLast(tx, tenant, before)
        await queries.deleteProvider(tx, tenant, id, now())
        const target = targetOf(before)
        const details = { linked_users: before.linked_users }
        await audit.record(tx, actor, 'identity_provider.deleted', { provider_id: target.id }, { target, details })
        await settle(tx, actor, id, false)
        return true
      })
    },

    /** What its discovery says now, or why it can't be used. */
    test: async (actor: Actor, id: string): Promise<Found | FederationError> => {
      const tenant = actor.tenantId
      const {
        kind,
        oidc: settings,
        name,
      } = (await db.inTenant(tenant, (tx) => queries.findProvider(tx, tenant, id))) ?? noProvider()
      const found = await oidc.inspect({ kind, issuer: settings.issuer }).catch((e: unknown) => {
        if (e instanceof FederationError) return e
        throw e
      })
      const target = targetOf({ provider_id: id, name })
      const problem = found instanceof FederationError ? found.reason : undefined
      const more = { target, ...(problem && { details: { reason: problem } }) }
      await db.inTenant(tenant, (tx) =>
        audit.record(tx, actor, 'identity_provider.tested', { provider_id: target.id, ok: !problem }, more),
      )
      return found
    },

    openSecret: async ({ provider_id, client_secret_jwe: jwe }: ProviderRow): Promise<string | undefined> =>
      jwe === null ? undefined : (await unseal(kek, sealContext(provider_id), jwe)).toString(),
  }
}
export type Providers = ReturnType<typeof createProviders>

/** What of a provider is set; who has linked themselves since is not. */
export const versionOf = ({ linked_users: _, ...set }: ProviderRow) => set

/** What of a provider is set, its secret apart. */
export const fieldsOf = (p: ProviderFields): ProviderFields => ({
  name: p.name,
  enabled: p.enabled,
  sign_in: p.sign_in,
  enrollment: p.enrollment,
  requires_approval: p.requires_approval,
  max_devices_per_user: p.max_devices_per_user,
  provisioning: p.provisioning,
  claims: p.claims,
  group_mappings: p.group_mappings,
  role_mappings: p.role_mappings,
  oidc: {
    issuer: p.oidc.issuer,
    client_id: p.oidc.client_id,
    scopes: p.oidc.scopes,
    mobile_client_ids: p.oidc.mobile_client_ids,
  },
})

/** What an event says of a provider, as on the wire; group mappings have no order. */
const factsOf = (p: ProviderFields) => ({
  ...fieldsOf(p),
  group_mappings: p.group_mappings
    .map(({ value, group_id }) => ({ value, group_id: encodeId('group', group_id) }))
    .toSorted((a, b) => (`${a.group_id} ${a.value}` < `${b.group_id} ${b.value}` ? -1 : 1)),
})

function refuseTwice({ group_mappings: list }: ProviderFields): void {
  const seen = new Set<string>()
  for (const [i, m] of list.entries()) {
    const key = JSON.stringify([m.value, m.group_id])
    if (seen.has(key)) failField(`group_mappings[${i}]`, 'stands there twice')
    seen.add(key)
  }
}

/**
 * Whoever maps a role gives it to people, and so does whoever changes by whose word: that needs the right to, and no
 * more than one may do oneself.
 */
function refuseRoles(actor: Actor, mappings: ProviderFields['role_mappings']): void {
  if (mappings.length === 0) return
  if (!permissionsOf(actor).has('rbac:write'))
    fail('forbidden', 'a provider that maps roles needs the permission rbac:write')
  const beyond = mappings.find((m) => !mayHandle(actor, m.role))
  if (beyond) fail('forbidden', `the role ${beyond.role} allows more than you may do yourself`)
}
