import type { Kek } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import { type Audit, syslogOriginOf } from '../audit/index.ts'
import type { NotificationRules } from '../notifications/index.ts'
import { connectorHandlers } from './connectors.handlers.ts'
import { createConnectors } from './connectors.ts'
import { pruneDeadLetters, pruneExports } from './dead-letters.queries.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createRecordDeliveries } from './delivery/deliveries.ts'
import { forwardingState } from './delivery/forwarding-state.queries.ts'
import { createNotices } from './delivery/notices.ts'
import { createSending } from './delivery/sending.ts'
import { siemExportHandlers } from './exports/exports.handlers.ts'
import { createSiemExports } from './exports/exports.ts'
import { prunePrevious } from './previous.queries.ts'
import { createEventReplay } from './replay.ts'
import { schemas } from './schema/schema.ts'
import { createSetAside } from './set-aside.ts'
import { createTryOut } from './try-out.ts'

export { firstConnectorAt } from './start.queries.ts'

type SiemDeps = {
  db: Database
  audit: Audit
  pager: Pager
  now: () => Date
  /** Seals the credentials of receivers. */
  kek: Kek
  outbound: Outbound
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers' | 'tenantsWithOpen'>
  publicUrl: string
  oidArc: string
  onError: (e: unknown) => void
}

/** Forwards the audit log of each tenant to its SIEM. */
export function createSiem(deps: SiemDeps) {
  const syslogOrigin = syslogOriginOf(deps)
  const notices = createNotices(deps)
  const parts = { ...deps, notices, syslogOrigin }
  const connectors = createConnectors(parts)
  const shown = { ...parts, show: connectors.show }
  const siemParts = { connectors, deadLetters: createDeadLetters(deps), tryOut: createTryOut(parts) }
  /** `wake`: called when events of a tenant have got their sequence numbers. */
  const delivering = createRecordDeliveries({ ...parts, send: createSending(parts) })
  return {
    handlers: {
      ...connectorHandlers({ ...siemParts, replay: createEventReplay(shown), setAside: createSetAside(shown) }),
      ...siemExportHandlers({ exports: createSiemExports(deps) }),
      getSiemSchema: async () => schemas(),
    },
    jobs: [{ name: 'watch_siem', cron: '* * * * *', run: notices.sweep }],
    prunes: [pruneDeadLetters, pruneExports, prunePrevious],
    standing: () => deps.db.acrossTenants(forwardingState),
    ...delivering,
  }
}
