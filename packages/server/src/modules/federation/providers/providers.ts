import type { IdentityProviderKind } from '@holdfast/contract/vocabulary'
import { seal, unseal } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { PageQuery } from '../../../db/page.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { differences } from '../../../kernel/differences.ts'
import { missing, newUuid } from '../../../kernel/ids.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import type { Change } from '../../../replication/changes.ts'
import { knownGroups } from '../../identity/index.ts'
import type { FederationDeps } from '../deps.ts'
import type { Oidc } from '../protocols/oidc/oidc.ts'
import { issuerProblem, type OidcProvider } from '../protocols/oidc/presets.ts'
import { FederationError } from '../protocols/proven-identity.ts'
import { defaultClaimsOf, type GivenOidc, oidcOf, requireKind, withDefaults } from './kinds.ts'
import type { LastWay } from './last-way.ts'
import { mappedClaimsOf } from './mapped-claims.ts'
import { createProviderChangeRules, type EndedLinks, unlinkedEvents, viewEnded } from './provider-change-rules.ts'
import { measuredOf, providerFacts, providerTarget, providerVersion, refuseTwice } from './provider-fields.ts'
import type { Measured, ProviderFields, ProviderRow } from './providers.queries.ts'
import * as queries from './providers.queries.ts'
import type { SamlRefresh } from './saml-refresh.ts'
import { type GivenSaml, nothingMeasured, type SamlSettings, viewFound } from './saml-settings.ts'

/** Undefined: unchanged, or no secret for a new provider. Null: no secret. */
type GivenSecret = string | null | undefined
type NewProvider = Partial<Omit<ProviderFields, 'oidc' | 'saml' | 'claims'>> & {
  kind: IdentityProviderKind
  name: string
  claims?: Partial<ProviderFields['claims']>
  oidc?: GivenOidc
  saml?: GivenSaml
}
type Replaced = Omit<ProviderFields, 'saml'> & { saml: GivenSaml | null }
/** Result of a test. `oidc` is null for SAML. */
type Found = { oidc: Awaited<ReturnType<Oidc['inspect']>> | null; saml: ReturnType<typeof viewFound> }

const defaults = {
  enabled: true,
  sign_in: true,
  enrollment: false,
  requires_approval: false,
  max_devices_per_user: null,
  provisioning: 'none',
  group_mappings: [],
  role_mappings: [],
} satisfies Partial<ProviderFields>

const noProvider = () => missing('identity_provider')
const nameIndex = 'identity_provider_name_is_unique_in_its_tenant'
const sealContext = (providerId: string) => `identity_providers/${providerId}/client_secret_jwe`

/** Identity providers of a tenant. The discovery or metadata of an enabled provider were read first. */
export function createProviders({
  db,
  audit,
  changes,
  pager,
  now,
  kek,
  people,
  oidc,
  saml,
  lastWay,
}: Pick<FederationDeps, 'db' | 'audit' | 'changes' | 'pager' | 'now' | 'kek' | 'people'> & {
  oidc: Pick<Oidc, 'inspect'>
  saml: Pick<SamlSettings, 'settle' | 'measure'> & Pick<SamlRefresh, 'refresh'>
  lastWay: Pick<LastWay, 'hold' | 'refuseLast'>
}) {
  const changeRules = createProviderChangeRules({ people })

  /**
   * Checks a provider by asking it. A disabled one may be prepared before it can be reached. Undefined: the stored
   * result of the metadata still holds.
   */
  async function check(
    kind: IdentityProviderKind,
    fields: ProviderFields,
    known: ProviderRow | undefined,
  ): Promise<Measured | undefined> {
    const { enabled } = fields
    const turnsOn = enabled && !known?.enabled
    if (kind === 'saml') {
      const url = fields.saml?.metadata_url ?? null
      const isOther = known?.saml?.metadata_url !== url
      if (url !== null && enabled && (turnsOn || isOther || !known?.saml_found)) return saml.measure(url)
      return isOther ? nothingMeasured : undefined
    }
    const { issuer, device_code } = oidcOf({ kind, oidc: fields.oidc })
    const problem = issuerProblem(kind, issuer)
    if (problem) failField('oidc.issuer', problem)
    const wantsMore = device_code !== 'off' && known?.oidc?.device_code !== device_code
    if (!turnsOn && !(enabled && (wantsMore || known?.oidc?.issuer !== issuer))) return undefined
    const found = await oidc.inspect({ kind, issuer }).catch((e: unknown) => {
      if (e instanceof FederationError) return failField('oidc.issuer', e.message)
      throw e
    })
    if (device_code !== 'off' && found.device_authorization_endpoint === null)
      failField('oidc.device_code', 'the provider does not support the device authorization grant')
    return undefined
  }
  const sealed = async (providerId: string, secret: string) => seal(kek, sealContext(providerId), Buffer.from(secret))

  /** Keeps the stored result only for the same metadata address; the address may have changed during the read. */
  const stillMeasured = (before: ProviderRow, { saml: set }: ProviderFields): Measured =>
    before.saml?.metadata_url === set?.metadata_url ? measuredOf(before) : nothingMeasured

  /** Last step of its transaction. If the provider opens no sessions any more, the sessions that it opened end. */
  async function finishChange(
    tx: Tx,
    actor: Actor,
    id: string,
    stillOpens: boolean,
    more: Change[] = [],
  ): Promise<void> {
    const ended = stillOpens ? [] : await people.endProviderSessions(tx, actor, id, null)
    await changes.record(tx, actor.tenantId, [{ kind: 'identity_provider', subject: id }, ...more, ...ended])
  }

  async function look(actor: Actor, row: ProviderRow): Promise<Found> {
    if (!row.saml) return { oidc: await oidc.inspect(oidcOf(row)), saml: null }
    if (row.saml.metadata_url === null) return { oidc: null, saml: viewFound(row) }
    // The stored result changes no setting, so it does not settle the idempotency claim of this request.
    const read = await saml.refresh({ ...actor, claim: null }, row)
    if (read instanceof FederationError) throw read
    return { oidc: null, saml: viewFound({ ...row, saml_found: read }) }
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
          tie: 'provider_id',
        }),
      ),

    linkedTo: (tenant: TenantId, ids: readonly string[]): Promise<ReadonlyMap<string, number>> =>
      db.inTenant(tenant, (tx) => queries.countLinked(tx, tenant, ids)),

    get: async (tenant: TenantId, id: string): Promise<ProviderRow> =>
      (await db.inTenant(tenant, (tx) => queries.findProvider(tx, tenant, id))) ?? noProvider(),

    create: async (actor: Actor, given: NewProvider, secret: GivenSecret): Promise<ProviderRow> => {
      const { kind, ...rest } = given
      const own = requireKind(kind, rest)
      const fields: ProviderFields = {
        ...defaults,
        ...rest,
        claims: { ...defaultClaimsOf(kind, rest.saml?.preset), ...rest.claims },
        oidc: own.oidc && kind !== 'saml' ? withDefaults(kind, own.oidc) : null,
        saml: own.saml && saml.settle(own.saml),
      }
      changeRules.requireMayMake(actor, fields)
      refuseTwice(fields)
      const measured = (await check(kind, fields, undefined)) ?? nothingMeasured
      const tenant = actor.tenantId
      const providerId = newUuid()
      const secretJwe = secret ? await sealed(providerId, secret) : null
      return mapUniqueViolation('name', nameIndex, () =>
        db.inTenant(tenant, async (tx) => {
          await requireGroups(tx, tenant, fields)
          await queries.insertProvider(tx, tenant, fields, { providerId, kind, secretJwe, measured, at: now() })
          const made = (await queries.findProvider(tx, tenant, providerId)) ?? noProvider()
          const target = providerTarget(made)
          await audit.record(tx, actor, 'identity_provider.created', { provider_id: target.id }, { target })
          await finishChange(tx, actor, providerId, true)
          return made
        }),
      )
    },

    /**
     * `allow` throws for a row that it refuses, under the row's lock. A request that changes nothing writes nothing.
     */
    replace: async (
      actor: Actor,
      id: string,
      { given, secret, endLinks }: { given: Replaced; secret: GivenSecret; endLinks: boolean },
      allow: (before: ProviderRow) => void,
    ): Promise<{ row: ProviderRow; ended: EndedLinks }> => {
      const tenant = actor.tenantId
      refuseTwice(given)
      const known = (await db.inTenant(tenant, (tx) => queries.findProvider(tx, tenant, id))) ?? noProvider()
      const own = requireKind(known.kind, given)
      const fields: ProviderFields = { ...given, oidc: own.oidc, saml: own.saml && saml.settle(own.saml) }
      const read = await check(known.kind, fields, known)
      const newJwe = secret ? await sealed(id, secret) : null
      return mapUniqueViolation('name', nameIndex, () =>
        db.inTenant(tenant, async (tx) => {
          const isShut = !fields.enabled || !fields.sign_in
          if (isShut) await lastWay.hold(tx, tenant)
          const before = (await queries.lockProvider(tx, tenant, id)) ?? noProvider()
          allow(before)
          if (isShut) await lastWay.refuseLast(tx, tenant, before)
          await requireGroups(tx, tenant, fields)
          const secretJwe = secret === undefined ? before.client_secret_jwe : newJwe
          const changed = differences(providerFacts(before), providerFacts(fields))
          const isNewSecret = secretJwe !== before.client_secret_jwe
          const isChanged = Object.keys(changed).length > 0 || isNewSecret
          const unlinked = await changeRules.settle(tx, actor, before, fields, { isNewSecret, endLinks })
          if (!isChanged) return { row: before, ended: { links: [], changes: [] } }
          // A person who may change a provider may still not see its secret, which is sent to the issuer.
          if (secret === undefined && before.client_secret_jwe !== null && fields.oidc?.issuer !== before.oidc?.issuer)
            failField(
              'oidc.client_secret',
              'must be given again, because the issuer changes and the credential is sent to the new issuer',
            )
          await queries.updateProvider(tx, tenant, id, fields, {
            secretJwe,
            measured: read ?? stillMeasured(before, fields),
            at: now(),
          })
          const after = (await queries.findProvider(tx, tenant, id)) ?? noProvider()
          const ended = await changeRules.endSessions(tx, actor, id, unlinked)
          const target = providerTarget(after)
          const provider_id = target.id
          const details = {
            ...(isNewSecret && { client_secret: secretJwe === null ? 'removed' : 'replaced' }),
            ...(ended.links.length > 0 && { ended_links: viewEnded(ended) }),
          }
          const more = { target, changes: changed, ...(Object.keys(details).length > 0 && { details }) }
          await audit.record(tx, actor, 'identity_provider.updated', { provider_id }, more)
          await audit.recordAll(tx, unlinkedEvents(actor, provider_id, ended))
          await finishChange(tx, actor, id, after.enabled && after.sign_in, ended.changes)
          return { row: after, ended }
        }),
      )
    },

    /** False if the provider was deleted before. */
    remove: (actor: Actor, id: string, expected: ExpectedVersion): Promise<boolean> => {
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        await lastWay.hold(tx, tenant)
        const before = await queries.lockProvider(tx, tenant, id)
        if (!before) {
          if (!(await queries.wasProviderDeleted(tx, tenant, id))) return noProvider()
          expected.require(undefined)
          return false
        }
        expected.require(providerVersion(before))
        await lastWay.refuseLast(tx, tenant, before)
        const details = { linked_users: (await queries.countLinked(tx, tenant, [id])).get(id) ?? 0 }
        await queries.deleteProvider(tx, tenant, id, now())
        const target = providerTarget(before)
        await audit.record(tx, actor, 'identity_provider.deleted', { provider_id: target.id }, { target, details })
        await finishChange(tx, actor, id, false)
        return true
      })
    },

    /**
     * Returns the current discovery or metadata, or the reason why the provider cannot be used. Metadata that were read
     * are stored.
     */
    test: async (actor: Actor, id: string): Promise<Found | FederationError> => {
      const tenant = actor.tenantId
      const row = (await db.inTenant(tenant, (tx) => queries.findProvider(tx, tenant, id))) ?? noProvider()
      const found = await look(actor, row).catch((e: unknown) => {
        if (e instanceof FederationError) return e
        throw e
      })
      const target = providerTarget(row)
      const problem = found instanceof FederationError ? found.reason : undefined
      const more = { target, ...(problem && { details: { reason: problem } }) }
      await db.inTenant(tenant, (tx) =>
        audit.record(tx, actor, 'identity_provider.tested', { provider_id: target.id, ok: !problem }, more),
      )
      return found
    },

    /** Returns our client settings at a provider of OpenID Connect, with its secret decrypted. */
    clientOf: async (row: ProviderRow): Promise<OidcProvider> => {
      const { kind, issuer, client_id: clientId, scopes } = oidcOf(row)
      const { provider_id, client_secret_jwe: jwe } = row
      const secret = jwe === null ? undefined : await unseal(kek, sealContext(provider_id), jwe)
      const mappedClaims = mappedClaimsOf(db, row)
      return { kind, issuer, clientId, clientSecret: secret?.toString(), scopes, mappedClaims }
    },
  }
}
export type Providers = ReturnType<typeof createProviders>
