import { X509Certificate } from 'node:crypto'
import { createCrl, type RevocationReason, type RevokedCertificate } from '@holdfast/crypto'
import { background, type Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { hour, second } from '../../../kernel/time.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import { tenantCache } from '../../../replication/tenant-cache.ts'
import { type Authority, backdated, signedLifetimes } from '../../trust/index.ts'
import type { CertificatesDeps } from '../deps.ts'
import { serialOf } from '../serial.ts'
import * as queries from './crls.queries.ts'

/** Validity of a CRL. A new one is issued after a revocation, and after half of this time. */
const lifetime = signedLifetimes.certificate
/** Revocations within this time share one CRL. */
const gatherMs = second
/** Attempts while other replicas issue at the same time. After that the job takes over. */
const most = 5
/** Expired certificates stay listed for a while (RFC 5280 §3.3), since clocks may be slow. */
const listedAfterEnd = hour

/** The newest CRL of an authority. */
export type Crl = {
  authority: Authority
  number: number
  issuedAt: Date
  thisUpdate: Date
  nextUpdate: Date
  der: Buffer
}

/**
 * Certificate revocation lists (RFC 5280 §5): the newest of each authority, with ascending numbers. A revocation raises
 * `revision` in its transaction. The replica that issues next lists it.
 */
export function createCrls({
  db,
  changes,
  feed,
  trust,
  now,
  onError,
}: Pick<CertificatesDeps, 'db' | 'changes' | 'feed' | 'trust' | 'now' | 'onError'>) {
  const read = (tenant: TenantId) =>
    db.inTenant(tenant, async (tx) => new Map((await queries.crlsOf(tx, tenant)).map((row) => [row.issuer_id, row])))

  const isDue = (row: queries.NewestCrl | undefined): boolean =>
    !row?.this_update ||
    row.revision > row.issued_revision ||
    now().getTime() - row.this_update.getTime() >= lifetime / 2

  async function listedBy(tx: Tx, tenant: TenantId, { signerId, x509 }: Authority): Promise<RevokedCertificate[]> {
    const since = new Date(now().getTime() - listedAfterEnd)
    const rows = await queries.revokedBy(tx, tenant, signerId, since)
    const certificates = rows.map(({ spc_id, revoked_at, revocation_reason }) => ({
      serial: serialOf(spc_id),
      revokedAt: revoked_at ?? since,
      reason: (revocation_reason ?? 'unspecified') as RevocationReason,
    }))
    const authorities = (await queries.compromisedAuthorities(tx, tenant)).flatMap(({ certificate, retired_at }) => {
      const authority = new X509Certificate(certificate ?? '')
      return authority.checkIssued(x509)
        ? [
            {
              serial: authority.serialNumber.toLowerCase(),
              revokedAt: retired_at ?? since,
              reason: 'cACompromise' as const,
            },
          ]
        : []
    })
    return [...authorities, ...certificates]
  }

  /**
   * False if another replica has issued that number. The revocations are read after the revision, so the CRL never
   * lacks one that the revision counts.
   */
  async function issueOne(tenant: TenantId, authority: Authority): Promise<boolean> {
    const found = await db.inTenant(tenant, async (tx) => {
      const before = await queries.newestCrl(tx, tenant, authority.signerId)
      return isDue(before) ? { before, revoked: await listedBy(tx, tenant, authority) } : undefined
    })
    if (!found) return true
    const { before, revoked } = found
    const issuedAt = Math.floor(now().getTime() / second) * second
    const [thisUpdate, nextUpdate] = [new Date(issuedAt - backdated), new Date(issuedAt + lifetime)]
    const number = (before?.number ?? 0) + 1
    const { signer, certificate, signerId } = authority
    const der = await createCrl(signer, certificate, { number, thisUpdate, nextUpdate, revoked }, createSlices())
    return db.inTenant(tenant, async (tx) => {
      const row = { issuer_id: signerId, number, issued_revision: before?.revision ?? 0 }
      const isFirst = await queries.putCrl(tx, tenant, {
        ...row,
        this_update: thisUpdate,
        next_update: nextUpdate,
        der,
      })
      if (isFirst) await changes.record(tx, tenant, [{ kind: 'crl', subject: signerId }])
      return isFirst
    })
  }

  /**
   * Issues the due CRLs of all authorities. After losing to another replica it tries again, since that CRL may lack
   * newer revocations.
   */
  async function issueDue(tenant: TenantId): Promise<void> {
    const { roots, issuing } = await trust.keyring(tenant)
    for (const authority of [...roots, ...issuing])
      for (let tries = 0; tries < most && !(await issueOne(tenant, authority)); tries++);
  }

  const scheduled = new Map<TenantId, NodeJS.Timeout>()
  function schedule(tenant: TenantId): void {
    if (scheduled.has(tenant)) return
    const timer = setTimeout(() => {
      scheduled.delete(tenant)
      issueDue(tenant).catch(onError)
    }, gatherMs)
    scheduled.set(tenant, timer)
  }

  const { get } = tenantCache<readonly Crl[]>(
    { changes, feed },
    {
      kinds: ['crl', 'trust'],
      load: async (tenant) => {
        const { roots, issuing } = await trust.keyring(tenant)
        const authorities = [...roots, ...issuing]
        let rows = await read(tenant)
        if (authorities.some(({ signerId }) => !rows.get(signerId)?.der)) {
          await issueDue(tenant)
          rows = await read(tenant)
        }
        return authorities.flatMap((authority) => {
          const { number, this_update, next_update, der } = rows.get(authority.signerId) ?? {}
          if (!number || !this_update || !next_update || !der) return []
          const issuedAt = new Date(this_update.getTime() + backdated)
          return [{ authority, number, issuedAt, thisUpdate: this_update, nextUpdate: next_update, der }]
        })
      },
    },
  )

  return {
    get,
    /**
     * Called in the transaction that revokes. The CRLs of these authorities are issued within seconds of its commit.
     */
    changed: async (tx: Tx, tenant: TenantId, issuerIds: readonly string[]): Promise<void> => {
      if (issuerIds.length === 0) return
      await queries.bump(tx, tenant, issuerIds)
      db.afterCommit(tx, () => schedule(tenant))
    },
    /** For the job: issues due CRLs, including those that a terminated process had scheduled. */
    sweep: async (): Promise<void> => {
      const since = new Date(now().getTime() - lifetime / 2)
      await eachTenant(await db.acrossTenants((tx) => queries.tenantsWithDueCrls(tx, since), background), issueDue)
    },
    stop: (): void => {
      for (const timer of scheduled.values()) clearTimeout(timer)
      scheduled.clear()
    },
  }
}
export type Crls = ReturnType<typeof createCrls>
