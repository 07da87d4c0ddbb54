import { X509Certificate } from 'node:crypto'
import { createCrl, type RevocationReason, type RevokedCertificate } from '@holdfast/crypto'
import { background, type Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { day, hour, minute, second } from '../../../kernel/time.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import { held } from '../../../memory/held.ts'
import type { Authority } from '../../trust/index.ts'
import type { CertificatesDeps } from '../deps.ts'
import { serialOf } from '../spc/prepare.ts'
import * as queries from './crls.queries.ts'

/** How long a list is good for; it is issued anew when something is revoked, and after half of its life. */
const lifetime = day
/** Clocks of those who verify may be slow: to them a list that is not valid yet is none. */
const backdated = 5 * minute
/** Revocations that come together are one list. */
const gatherMs = second
/** Replicas that list at once; after that the job does. */
const most = 5
/** What has ended stays listed for a while (RFC 5280 §3.3): somebody's clock may be slow. */
const listedAfterEnd = hour

/** The newest list of an authority. */
export type Crl = {
  authority: Authority
  number: number
  issuedAt: Date
  thisUpdate: Date
  nextUpdate: Date
  der: Buffer
}

/**
 * Certificate revocation lists (RFC 5280 §5): each authority's newest one, with numbers that only grow. What revokes
 * says so in its transaction (`revision`); whoever issues next lists it, on whichever replica.
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
   * False where another replica has issued that number. What is to be listed is read after the revision that it is the
   * list of: it may only be more.
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

  /** Of every authority whose list is due; what another replica has issued meanwhile may lack what this one knows. */
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

  const { get } = held<readonly Crl[]>(
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
    /** In the transaction that revokes: what these authorities issued is to be listed, within seconds of its commit. */
    changed: async (tx: Tx, tenant: TenantId, issuerIds: readonly string[]): Promise<void> => {
      if (issuerIds.length === 0) return
      await queries.bump(tx, tenant, issuerIds)
      db.afterCommit(tx, () => schedule(tenant))
    },
    /** For the job: lists that are due, also those that a process which ended had scheduled. */
    sweep: async (): Promise<void> => {
      const since = new Date(now().getTime() - lifetime / 2)
      await eachTenant(await db.acrossTenants((tx) => queries.tenantsDue(tx, since), background), issueDue)
    },
    stop: (): void => {
      for (const timer of scheduled.values()) clearTimeout(timer)
      scheduled.clear()
    },
  }
}
export type Crls = ReturnType<typeof createCrls>
