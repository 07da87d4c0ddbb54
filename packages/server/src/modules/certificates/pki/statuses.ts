import type { OcspStatus, RevocationReason } from '@holdfast/crypto'
import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { createConcurrencyLimiter } from '../../../kernel/concurrency.ts'
import { second } from '../../../kernel/time.ts'
import type { CertificatesDeps } from '../deps.ts'
import { uuidOfSerial } from '../serial.ts'
import type { StandingOf } from '../spc/certificate-status.ts'
import { issuedOf, type NotGood } from '../spc/spcs.queries.ts'

type Issued = { issuerId: string; notAfter: Date }

const rememberMost = { issued: 50_000, absent: 20_000 }
/** Time after which an unknown serial number is looked up again. */
const absentMs = 10 * second
/** Concurrent look-ups, by client address. Cached serial numbers need none. */
const places = { perKey: 2, total: 8, waiting: 256, waitingPerKey: 32 }

/**
 * Status of certificates of an authority, by serial number (RFC 6960 §2.2). `good`: issued here, neither expired nor
 * revoked. The first request for a serial number costs a statement; revocations are in memory.
 */
export function createStatuses({
  db,
  changes,
  now,
  standingOf,
}: Pick<CertificatesDeps, 'db' | 'changes' | 'now'> & { standingOf: StandingOf }) {
  const issued = new BoundedMap<string, Issued>(rememberMost.issued)
  const absent = new BoundedMap<string, number>(rememberMost.absent)
  const gate = createConcurrencyLimiter(places)
  // A restored database may not have the certificates issued after its backup.
  changes.listen('values', {
    changed: () => {},
    forgotten: () => {
      issued.clear()
      absent.clear()
    },
  })

  const keyOf = (tenant: TenantId, spcId: string) => `${tenant} ${spcId}`
  const isOpen = (key: string) => !issued.get(key) && (absent.get(key) ?? 0) <= performance.now()

  async function lookUp(tenant: TenantId, spcIds: readonly string[]): Promise<void> {
    const open = spcIds.filter((id) => isOpen(keyOf(tenant, id)))
    if (open.length === 0) return
    const rows = await db.inTenant(tenant, (tx) => issuedOf(tx, tenant, open))
    const found = new Map(rows.map((row) => [row.spc_id, row]))
    for (const id of open) {
      const row = found.get(id)
      if (row) issued.set(keyOf(tenant, id), { issuerId: row.issuer_id, notAfter: row.not_after })
      else absent.set(keyOf(tenant, id), performance.now() + absentMs)
    }
  }

  /** In the order of the serial numbers (hex). `from`: the client, as the rate limit counts it. */
  return async (
    { tenant, issuerId, from }: { tenant: TenantId; issuerId: string; from: string },
    serials: readonly string[],
  ): Promise<OcspStatus[]> => {
    const spcIds = serials.map((serial) => (serial.length === 32 ? uuidOfSerial(serial) : undefined))
    const open = spcIds.filter((id) => id !== undefined && isOpen(keyOf(tenant, id))) as string[]
    if (open.length > 0) await gate(from, () => lookUp(tenant, open))
    const tenantStatuses = await standingOf(tenant)
    const at = now()
    return spcIds.map((id) => {
      const found = id === undefined ? undefined : issued.get(keyOf(tenant, id))
      return id === undefined || found?.issuerId !== issuerId ? 'unknown' : statusAt(found, tenantStatuses.get(id), at)
    })
  }
}
export type StatusesOf = ReturnType<typeof createStatuses>

/** An expired certificate is never `good`, since its revocation is no longer kept in memory. */
function statusAt({ notAfter }: Issued, notGood: NotGood | undefined, at: Date): OcspStatus {
  if (notGood?.revoked_at) {
    const reason = (notGood.reason ?? 'unspecified') as RevocationReason
    return { revokedAt: notGood.revoked_at, reason }
  }
  if (notGood?.revoke_after && notGood.revoke_after <= at)
    return { revokedAt: notGood.revoke_after, reason: 'superseded' }
  return notAfter > at ? 'good' : 'unknown'
}
