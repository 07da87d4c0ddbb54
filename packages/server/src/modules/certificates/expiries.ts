import type { TenantId } from '../../kernel/actor.ts'
import { type ExpiringObject, oneBatch } from '../../kernel/expiring-object.ts'
import { encodeId } from '../../kernel/ids.ts'
import { hour } from '../../kernel/time.ts'
import { endsOfCrls } from './crl/crls.queries.ts'
import type { CertificatesDeps } from './deps.ts'
import { endsByDay } from './spc/spcs.queries.ts'

export const createCertificateExpiries = ({ db, now }: Pick<CertificatesDeps, 'db' | 'now'>) => ({
  /** The newest CRL of each authority that still issues them. The next one is issued after half of the validity. */
  ofCrls: oneBatch(async (tenant: TenantId): Promise<ExpiringObject[]> => {
    const rows = await db.inTenant(tenant, (tx) => endsOfCrls(tx, tenant))
    return rows.flatMap(({ issuer_id, number, this_update: since, next_update: expiresAt }) => {
      if (!since || !expiresAt) return []
      const renewal = new Date((since.getTime() + expiresAt.getTime()) / 2 + hour)
      const id = encodeId('signer', issuer_id)
      return [{ type: 'crl' as const, id, name: `number ${number}`, since, expiresAt, renewal }]
    })
  }),
  /** Number of active SPCs that expire on each day (UTC). */
  ofSpcs: async (tenant: TenantId): Promise<{ day: string; count: number }[]> => {
    const rows = await db.inTenant(tenant, (tx) => endsByDay(tx, tenant, now()))
    return rows.map(({ day, count }) => ({ day: day.toISOString().slice(0, 10), count }))
  },
})
