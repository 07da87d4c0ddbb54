import { createHash } from 'node:crypto'
import type { SiemConnectorKind } from '@holdfast/contract/vocabulary'
import { type Kek, seal } from '@holdfast/crypto'
import type { Database, Tx } from '../../db/database.ts'
import type { PageQuery, Pager } from '../../db/page.ts'
import type { Destination } from '../../db/tables/siem.ts'
import { mapUniqueViolation } from '../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { failField, failMaximum } from '../../kernel/app-error.ts'
import { type Differences, differences } from '../../kernel/differences.ts'
import { missing, newUuid } from '../../kernel/ids.ts'
import type { ExpectedVersion } from '../../kernel/version.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import { mintWebhookSecret } from '../../outbound/standard-webhook.ts'
import type { Audit } from '../audit/index.ts'
import type { ConnectorFields, ConnectorRow, StreamState } from './connectors.queries.ts'
import * as queries from './connectors.queries.ts'
import { checkCredential, sealContext, takesCredential } from './credential.ts'
import { deleteDeadLetters } from './dead-letters.queries.ts'
import type { Notices } from './delivery/notices.ts'
import { lastPlace } from './delivery/record.queries.ts'
import { endExportLeases, insertStream, lockStream, setStream } from './delivery/streams.queries.ts'
import { checkDestination, nowhere, originOf, receiverOf, withUsualBom, withUsualPort } from './destination.ts'
import { connectorTarget } from './target.ts'

/** A connector and the progress of its forwarding. */
export type ShownConnector = { connector: ConnectorRow; state: StreamState }
type NewConnector = Pick<ConnectorRow, 'name' | 'format'> & {
  kind: SiemConnectorKind
  enabled?: boolean
  destination: Partial<Destination>
}
/** Replacement settings. The URL is never shown, so an absent `url` keeps the stored one. */
type Replacement = Omit<ConnectorFields, 'destination'> & {
  destination: Omit<Destination, 'url'> & { url?: string }
}

/** Limit per tenant, because each connector has a stream of its own. */
const mostConnectors = 20

export const noConnector = () => missing('siem_connector')

type ConnectorsDeps = {
  db: Database
  audit: Audit
  pager: Pager
  now: () => Date
  kek: Kek
  outbound: Pick<Outbound, 'refusalOf' | 'socketRefusalOf'>
  notices: Pick<Notices, 'recovered'>
}

/** Connectors that a tenant's audit log is forwarded to: their settings. */
export function createConnectors({ db, audit, pager, now, kek, outbound, notices }: ConnectorsDeps) {
  const sealed = (id: string, credential: string) => seal(kek, sealContext(id), Buffer.from(credential))
  const requireCredential = (kind: SiemConnectorKind, isSet: boolean) =>
    takesCredential(kind) && !isSet ? failField('credential', `is required for ${kind}`) : undefined

  async function shown(tx: Tx, connectors: readonly ConnectorRow[], tenant: TenantId): Promise<ShownConnector[]> {
    const standings = await queries.streamStates(
      tx,
      tenant,
      connectors.map((c) => c.connector_id),
    )
    // A connector that was deleted in between is left out.
    return connectors.flatMap((connector) => {
      const state = standings.get(connector.connector_id)
      return state ? [{ connector, state }] : []
    })
  }
  async function show(tx: Tx, tenant: TenantId, id: string): Promise<ShownConnector> {
    const connector = (await queries.findConnector(tx, tenant, id)) ?? noConnector()
    const [one] = await shown(tx, [connector], tenant)
    return one ?? noConnector()
  }

  return {
    show,
    list: (tenant: TenantId, query: PageQuery) =>
      db.inTenant(tenant, async (tx) => {
        const page = await pager.list(queries.selectConnectors(tx, tenant), {
          operation: 'listSiemConnectors',
          tenant,
          query,
          orders: { created_at: { column: 'created_at', kind: 'time' } },
          tie: 'connector_id',
        })
        return { items: await shown(tx, page.items, tenant), next_cursor: page.next_cursor }
      }),

    get: (tenant: TenantId, id: string): Promise<ShownConnector> => db.inTenant(tenant, (tx) => show(tx, tenant, id)),

    /**
     * Creates a connector. Without a given credential, the secret of a webhook is generated here, and returned once.
     */
    create: async (actor: Actor, given: NewConnector, credential: string | null | undefined) => {
      const { kind, name, format, enabled = true } = given
      const destination = withUsualBom(kind, format, withUsualPort(kind, { ...nowhere, ...given.destination }))
      checkDestination(kind, destination, outbound)
      if (credential) checkCredential(kind, credential)
      const secret = kind === 'webhook' && !credential ? mintWebhookSecret() : null
      const opener = credential ?? secret
      requireCredential(kind, opener !== null)
      const tenant = actor.tenantId
      const connector_id = newUuid()
      const credential_jwe = opener === null ? null : await sealed(connector_id, opener)
      // Events committed before get their sequence numbers now, and are not sent.
      await audit.catchUp(tenant)
      const work = () =>
        db.inTenant(tenant, async (tx) => {
          await queries.lockNewConnectors(tx, tenant)
          if ((await queries.countConnectors(tx, tenant)) >= mostConnectors)
            failMaximum(`the tenant has ${mostConnectors} SIEM connectors`, 'delete a connector first')
          const fields = { name, format, enabled, destination }
          await queries.insertConnector(tx, tenant, fields, { connector_id, kind, credential_jwe, at: now() })
          const last = await lastPlace(tx, tenant)
          await insertStream(tx, {
            tenant_id: tenant,
            stream_id: connector_id,
            connector_id,
            after_seq: last,
            furthest_seq: last,
            state: enabled ? 'flowing' : 'stopped',
          })
          const target = connectorTarget({ connector_id, name })
          await audit.record(tx, actor, 'siem_connector.created', { connector_id: target.id }, { target })
          return show(tx, tenant, connector_id)
        })
      return { ...(await mapUniqueViolation('name', 'siem_connector_name_is_unique', work)), secret }
    },

    /**
     * `allow` may refuse the change after it sees the stored row, under its lock. Any change makes a parked connector
     * continue. A batch in transit is aborted and sent again. A change without effect is not recorded.
     */
    replace: async (
      actor: Actor,
      id: string,
      given: { fields: Replacement; credential: string | null | undefined; keepsPrevious: boolean },
      allow: (before: ShownConnector) => void,
    ): Promise<ShownConnector> => {
      const tenant = actor.tenantId
      const { credential } = given
      const newJwe = credential ? await sealed(id, credential) : null
      const work = () =>
        db.inTenant(tenant, async (tx) => {
          const before = (await queries.lockConnector(tx, tenant, id)) ?? noConnector()
          allow(await show(tx, tenant, id))
          const { kind } = before
          const set = { ...before.destination, ...given.fields.destination }
          const destination = given.fields.destination.bom === null ? withUsualBom(kind, given.fields.format, set) : set
          checkDestination(kind, destination, outbound)
          if (credential) checkCredential(kind, credential)
          const credential_jwe = credential === undefined ? before.credential_jwe : newJwe
          requireCredential(kind, credential_jwe !== null)
          // The credential goes to the new address. A caller who may change a connector may not be allowed to see its
          // credential.
          if (credential === undefined && receiverOf(destination) !== receiverOf(before.destination))
            if (before.credential_jwe !== null && kind !== 'webhook')
              failField(
                'credential',
                'must be given again, because the destination changes and the credential is sent to the new destination',
              )
          const fields = { ...given.fields, destination }
          const changed = changesOf(before, fields)
          // The audit log shows neither: some URLs hold a secret.
          const isNewCredential = credential_jwe !== before.credential_jwe
          const replaced = {
            ...(destination.url !== before.destination.url && { url: 'replaced' }),
            ...(isNewCredential && { credential: 'replaced' }),
            ...(!given.keepsPrevious && before.previous_signs && { previous_credential: 'ended' }),
          }
          if (Object.keys({ ...changed, ...replaced }).length === 0) return show(tx, tenant, id)
          await queries.updateConnector(tx, before, fields, { credential_jwe, at: now() })
          if (!given.keepsPrevious) await queries.endPrevious(tx, before)
          else if (isNewCredential && kind === 'webhook') await queries.keepPrevious(tx, before)
          const state = fields.enabled ? 'flowing' : 'stopped'
          await setStream(tx, { tenant_id: tenant, stream_id: id }, { state, problem: null, failing_since: null })
          await endExportLeases(tx, before)
          const target = connectorTarget({ connector_id: id, name: fields.name })
          const more = { target, changes: changed, ...(Object.keys(replaced).length > 0 && { details: replaced }) }
          await audit.record(tx, actor, 'siem_connector.updated', { connector_id: target.id }, more)
          return show(tx, tenant, id)
        })
      const after = await mapUniqueViolation('name', 'siem_connector_name_is_unique', work)
      await notices.recovered(tenant)
      return after
    },

    /** False if it was already deleted. */
    remove: async (actor: Actor, id: string, expected: ExpectedVersion): Promise<boolean> => {
      const tenant = actor.tenantId
      const isRemoved = await db.inTenant(tenant, async (tx) => {
        const before = await queries.lockConnector(tx, tenant, id)
        if (!before) {
          if (!(await queries.wasConnectorDeleted(tx, tenant, id))) return noConnector()
          expected.require(undefined)
          return false
        }
        expected.require(connectorVersion(before))
        await queries.markConnectorDeleted(tx, tenant, id, { at: now(), destination: nowhere })
        await queries.endPrevious(tx, before)
        await lockStream(tx, { tenant_id: tenant, stream_id: id })
        await queries.deleteStreams(tx, tenant, id)
        await deleteDeadLetters(tx, before, 'all')
        const target = connectorTarget(before)
        await audit.record(tx, actor, 'siem_connector.deleted', { connector_id: target.id }, { target })
        return true
      })
      if (isRemoved) await notices.recovered(tenant)
      return isRemoved
    },
  }
}
export type Connectors = ReturnType<typeof createConnectors>

/**
 * Returns the settings that the version (ETag) of a connector depends on. The progress of forwarding does not count,
 * nor the end of the previous secret.
 */
export const connectorVersion = (connector: ConnectorRow) => {
  const { previous_credential_jwe: _, previous_until: _until, previous_signs: _signs, ...set } = connector
  return set
}

/**
 * Returns the settings in their API form, with only the origin of the URL, and the SHA-256 of the CA certificates in
 * hexadecimal.
 */
const factsOf = ({ name, format, enabled, destination }: ConnectorFields) => {
  const { url, tls, ...others } = destination
  const { ca_pem, server_name } = tls
  const ca_sha256 = ca_pem === null ? null : createHash('sha256').update(ca_pem).digest('hex')
  return { name, format, enabled, ...others, tls: { ca_sha256, server_name }, origin: originOf(url) }
}
const changesOf = (before: ConnectorFields, after: ConnectorFields): Differences =>
  differences(factsOf(before), factsOf(after))
