import { previousSecretHours } from '@holdfast/contract/limits'
import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Prune } from '../../db/retention.ts'
import type { ConnectorRow } from './connectors.queries.ts'

type Of = Pick<ConnectorRow, 'tenant_id' | 'connector_id'>
type Previous = { previous_credential_jwe: string | null; previous_until: RawBuilder<Date> | null }
const set = (tx: Tx, { tenant_id, connector_id }: Of, previous: Previous) =>
  tx
    .updateTable('siem_connectors')
    .set(previous)
    .where('tenant_id', '=', tenant_id)
    .where('connector_id', '=', connector_id)
    .execute()

/** Time in which the previous secret stays valid, so that the receiver can switch. */
const hours = sql.lit(previousSecretHours)
/** Keeps the previous secret of a locked connector. For that time it signs in addition to the new one. */
export const keepPrevious = (tx: Tx, before: Of & Pick<ConnectorRow, 'credential_jwe'>) =>
  set(tx, before, {
    previous_credential_jwe: before.credential_jwe,
    previous_until: sql<Date>`clock_timestamp() + ${hours} * interval '1 hour'`,
  })
export const endPrevious = (tx: Tx, of: Of) => set(tx, of, { previous_credential_jwe: null, previous_until: null })

const isOver = sql`previous_until <= clock_timestamp()`
/** Deletes previous secrets that are no longer valid. */
export const prunePrevious: Prune = {
  isDue: (tenant) => sql<boolean>`exists (select from siem_connectors where tenant_id = ${tenant} and ${isOver})`,
  take: async (tx, tenant, limit) => {
    const { numAffectedRows } = await sql`
      with over as (
        select connector_id from siem_connectors where tenant_id = ${tenant} and ${isOver}
        order by connector_id limit ${limit} for no key update)
      update siem_connectors c set previous_credential_jwe = null, previous_until = null from over
      where c.tenant_id = ${tenant} and c.connector_id = over.connector_id`.execute(tx)
    return Number(numAffectedRows ?? 0)
  },
}
