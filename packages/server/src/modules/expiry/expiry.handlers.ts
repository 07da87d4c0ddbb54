import type { Contract, Output } from '@holdfast/contract'
import type { Handlers } from '../../http/handlers.ts'
import type { ExpiringObject } from '../../kernel/expiring-object.ts'
import type { Expiries } from './expiries.ts'
import { daysUntilEnd, expiryStatusOf, renewsItself } from './standing.ts'

export const expiryHandlers = (expiries: Expiries) =>
  ({
    listExpiries: async ({ actor, query }) => {
      const { items, at, ...more } = await expiries.read(actor.tenantId, query)
      return { items: items.map((e) => viewExpiry(e, at)), ...more }
    },
  }) satisfies Partial<Handlers>

export const viewExpiry = (e: ExpiringObject, at: Date): Output<Contract['listExpiries']>['items'][number] => ({
  type: e.type,
  id: e.id,
  name: e.name,
  since: e.since.toISOString(),
  expires_at: e.expiresAt.toISOString(),
  days_left: Math.floor(daysUntilEnd(e, at)),
  status: expiryStatusOf(e, at),
  renews_itself: renewsItself(e, at),
})
