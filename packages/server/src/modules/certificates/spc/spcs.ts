import type { RevocationReason } from '@holdfast/contract/vocabulary'
import type { Tx } from '../../../db/database.ts'
import type { PageQuery } from '../../../db/page.ts'
import type { Actor, Source, TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import { authorityIds } from '../crl/crls.queries.ts'
import type { Crls } from '../crl/crls.ts'
import type { CertificatesDeps } from '../deps.ts'
import type { IssueCertificates } from './issue.ts'
import type { Prepared } from './prepare.ts'
import * as queries from './spcs.queries.ts'

/** A device may ask only for itself; an administrator for any device. */
const ownOf = ({ principal }: Actor): string | undefined => (principal.kind === 'device' ? principal.id : undefined)
const sweepSize = 1000

/** Issuance, rotation and revocation of certificates. */
export function createSpcs({
  db,
  audit,
  changes,
  pager,
  now,
  issue,
  crls,
}: Pick<CertificatesDeps, 'db' | 'audit' | 'changes' | 'pager' | 'now'> & { issue: IssueCertificates; crls: Crls }) {
  return {
    list: (tenant: TenantId, filter: queries.SpcFilter, query: PageQuery) =>
      db.inTenant(tenant, (tx) =>
        pager.list(queries.selectSpcs(tx, tenant, filter, now()), {
          operation: 'listSpcs',
          tenant,
          query,
          orders: {
            issued_at: { column: 'issued_at', kind: 'time' },
            not_after: { column: 'not_after', kind: 'time' },
          },
          tie: 'spc_id',
        }),
      ),

    get: (tenant: TenantId, spcId: string): Promise<queries.SpcRow> =>
      db.inTenant(tenant, async (tx) => (await queries.findSpc(tx, tenant, spcId)) ?? missing('spc')),

    /** Issues to the calling device, or to the device that an administrator names. */
    issue: (actor: Actor, deviceId: string | undefined, csr: string): Promise<Prepared> => {
      const own = ownOf(actor)
      if (own !== undefined && deviceId !== undefined && deviceId !== own)
        fail('forbidden', 'a device may request certificates only for itself')
      return issue(actor, own ?? deviceId ?? failField('device_id', 'is required'), csr, null)
    },

    rotate: async (actor: Actor, spcId: string, csr: string): Promise<Prepared> => {
      const tenant = actor.tenantId
      const before = await db.inTenant(tenant, (tx) => queries.findSpc(tx, tenant, spcId))
      const own = ownOf(actor)
      if (!before || (own !== undefined && before.device_id !== own)) return missing('spc')
      return issue(actor, before.device_id, csr, before)
    },

    revoke: (actor: Actor, spcId: string, reason: RevocationReason) => {
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        const before = (await queries.lockSpc(tx, tenant, spcId, ownOf(actor))) ?? missing('spc')
        const spc = await queries.revoke(tx, tenant, spcId, { reason, at: now() })
        if (!spc) return { changed: false, spc: before }
        await crls.changed(tx, tenant, [spc.issuer_id])
        const id = encodeId('spc', spcId)
        const fields = { spc_id: id, device_id: encodeId('device', spc.device_id), reason }
        await audit.record(tx, actor, 'spc.revoked', fields, { target: { type: 'spc', id, name: null } })
        await changes.record(tx, tenant, [{ kind: 'certificate', subject: spcId }])
        return { changed: true, spc }
      })
    },

    /**
     * Called in the transaction that suspends or removes devices or users. Revokes their certificates for good. That
     * transaction records the change of the devices or users, which invalidates the caches.
     */
    revokeOf: async (
      tx: Tx,
      tenant: TenantId,
      { deviceIds = [], userIds = [] }: { deviceIds?: readonly string[]; userIds?: readonly string[] },
    ): Promise<void> => {
      if (deviceIds.length + userIds.length === 0) return
      const end = { reason: 'cessationOfOperation', at: now() }
      await crls.changed(tx, tenant, await queries.revokeOf(tx, tenant, { deviceIds, userIds }, end))
    },

    /** Called in the transaction that ends authorities and records the change. The remaining roots list them. */
    revokeIssuedBy: async (tx: Tx, { tenantId }: Source, issuerIds: readonly string[], at: Date): Promise<void> => {
      await queries.revokeOfIssuers(tx, tenantId, issuerIds, { reason: 'cACompromise', at })
      await crls.changed(tx, tenantId, await authorityIds(tx, tenantId))
    },

    countOfIssuer: queries.countOfIssuer,

    /** Devices that have had a certificate, with the expiry of the newest active one; null if none is active. */
    endsOf: async (tx: Tx, tenant: TenantId, deviceIds: readonly string[]): Promise<ReadonlyMap<string, Date | null>> =>
      new Map((await queries.endsOf(tx, tenant, deviceIds, now())).map((r) => [r.device_id, r.not_after])),

    /** For the job: revokes rotated certificates whose overlap has ended. */
    endSuperseded: async (tenant: TenantId): Promise<void> => {
      for (let ended = sweepSize; ended === sweepSize; ) {
        const issuers = await db.inTenant(tenant, async (tx) => {
          const of = await queries.revokeSuperseded(tx, tenant, now(), sweepSize)
          await crls.changed(tx, tenant, of)
          return of
        })
        ended = issuers.length
      }
    },
  }
}
export type Spcs = ReturnType<typeof createSpcs>
