import { background, type Database, type Tx } from '../../db/database.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import type { Log } from '../../kernel/log.ts'
import type { Notice, NotificationRules } from '../notifications/index.ts'
import { checkClock, findDistrust } from './retention.queries.ts'

export type ClockDeps = {
  db: Database
  log: Log
  notifications: Pick<NotificationRules, 'notify' | 'closeOthers'>
  /** The home tenant, in which the deployment is administered. */
  home: () => Promise<TenantId | undefined>
}
const kind = 'clock.untrusted'

/** Checks the clock before anything is purged by it. */
export function createClockWatch({ db, log, notifications, home }: ClockDeps) {
  /** Compares the database clock, which decides, with the clock of this machine. */
  const look = (tx: Tx) => checkClock(tx, new Date(Date.now()))

  /** Notifies administrators once, in the transaction that ends the trust in the clock. */
  const lookAndTell = (tenant: TenantId) =>
    db.inTenant(
      tenant,
      async (tx) => {
        const before = await findDistrust(tx)
        const until = await look(tx)
        if (until && !before) await notifications.notify(tx, tenant, noticeOf(until))
        return until
      },
      background,
    )

  return async (): Promise<void> => {
    const tenant = await home()
    const until = tenant === undefined ? await db.acrossTenants(look, background) : await lookAndTell(tenant)
    if (until) log.warn({ until }, 'purges paused: a clock jumped or is wrong, or a backup was restored')
    else if (tenant) await notifications.closeOthers(jobSource(tenant, 'forget_what_is_over'), kind, new Set())
  }
}

const noticeOf = (until: Date): Notice => ({
  kind,
  severity: 'warning',
  title: 'The database clock jumped, or differs from the clock of a server',
  detail: `Nothing is purged and no tenant is deleted before ${until.toISOString()}. Synchronize the clocks of the database and of all servers. While they differ by ten minutes or more, this time is postponed.`,
  subject: { type: 'deployment', id: null, name: null },
  dedupe_key: kind,
})
