import type { Contract, Given } from '@holdfast/contract'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { begins, select } from '../audit.queries.ts'

type Asked = Omit<Given<Contract['exportAudit']>['query'], 'format'>
export type Filter = Omit<Asked, 'from' | 'to'> & { from?: Date; to?: Date }

export const filterOf = ({ from, to, ...exact }: Asked): Filter => ({
  ...exact,
  ...(from !== undefined && { from: instant('from', from) }),
  ...(to !== undefined && { to: instant('to', to) }),
})

/** A date-time of RFC 3339 can name moments that do not exist as instants, such as a leap second. */
function instant(name: string, text: string): Date {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? fail('bad_request', `${name}: is not a moment in time`) : at
}

export function fitting(tx: Tx, tenant: TenantId, { q, ...filter }: Filter) {
  const all = select(tx, tenant, filter)
  return q === undefined ? all : all.where(begins(q))
}
