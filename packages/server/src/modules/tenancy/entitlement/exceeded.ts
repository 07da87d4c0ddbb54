import type { CountedMetric } from '@holdfast/contract/vocabulary'
import type { Database } from '../../../db/database.ts'
import { jobSource, type Source, type TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { createRepeatCounter } from '../../../kernel/repeat-counter.ts'
import type { Audit } from '../../audit/index.ts'
import type { RaiseNotification } from '../../notifications/index.ts'
import { spokenOf } from '../plans/limits.ts'

type Exceeded = Source & { metric: CountedMetric; used: number; limit: number; asked: number }

/**
 * Records that a limit refused something, and notifies administrators. The refusal rolls back the caller's transaction,
 * so this one uses its own. For each metric and caller the first refusal of a minute is recorded at once, and the
 * others together.
 */
export function createExceeded({
  db,
  audit,
  notify,
  onError,
}: {
  db: Database
  audit: Pick<Audit, 'record'>
  notify: RaiseNotification
  onError: (e: Error) => void
}) {
  const tally = createRepeatCounter<Exceeded>({
    onError,
    mostOfTenant: 100,
    keyOf: ({ tenantId, metric, type, id }) => `${tenantId} ${metric} ${type} ${id}`,
    overflow: (item) => ({ ...item, ...jobSource(item.tenantId, job) }),
    merge: (held, { asked, used, limit }) => Object.assign(held, { asked: held.asked + asked, used, limit }),
    record: ({ metric, used, limit, asked, ...by }, _) =>
      db.inTenant(by.tenantId, async (tx) => {
        const tenant = { type: 'tenant', id: encodeId('tenant', by.tenantId), name: null }
        const fields = { metric, used, limit, refused: asked }
        await audit.record(tx, by, 'entitlement.exceeded', fields, {
          outcome: 'refused',
          target: tenant,
        })
        await notify(tx, by.tenantId, {
          kind: 'entitlement.exceeded',
          severity: 'warning',
          title: `The limit of ${spokenOf[metric]} was reached (${used} of ${limit} in use)`,
          detail: `Requests for ${asked} more were refused. Existing ones continue to work. Remove some, or ask for a higher limit. The audit log has each refusal as entitlement.exceeded.`,
          subject: tenant,
          // While the notification is open, further refusals at this limit are only audited.
          dedupe_key: `entitlement.exceeded:${metric}:${limit}`,
        })
      }),
  })
  return {
    /** Returns at once, because the caller has a transaction open. */
    tell: (
      tenant: TenantId,
      by: Source | undefined,
      what: { metric: CountedMetric; used: number; limit: number; asked: number },
    ): void => void tally.count({ ...sourceOf(by ?? jobSource(tenant, job)), ...what }).catch(onError),
    flush: tally.flush,
  }
}
export type TellExceeded = ReturnType<typeof createExceeded>['tell']

const job = 'entitlements'

/**
 * Keeps only the fields that an audit event needs, because the tally holds them for a minute. Credentials are left out.
 */
const sourceOf = ({ tenantId, type, id, name, origin, sourceIp, userAgent, requestId }: Source): Source => ({
  tenantId,
  type,
  id,
  name,
  origin,
  sourceIp,
  userAgent,
  requestId,
  claim: null,
})
