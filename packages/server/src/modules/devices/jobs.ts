import { background, type Database } from '../../db/database.ts'
import { jobSource } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { minute } from '../../kernel/time.ts'
import type { Listening } from '../health/index.ts'
import * as queries from './devices.queries.ts'
import type { DeviceLifecycle } from './lifecycle.ts'
import { forgetProofs } from './proofs.queries.ts'
import type { Waiting } from './waiting.ts'

/** Devices revoked at once. A sweep repeats until none is left. */
const sweepSize = 1000

/** Time within which running devices reconnect after an outage of the server, in ms. */
const comeBackMs = 15 * minute

type Deps = {
  db: Database
  now: () => Date
  lifecycle: DeviceLifecycle
  listening: Listening
  waiting: Pick<Waiting, 'sweep'>
}
export function deviceJobs({ db, now, lifecycle, listening, waiting }: Deps) {
  /** Revokes ephemeral devices that fell silent. */
  async function revokeSilent(): Promise<void> {
    const at = now()
    const listenedMs = at.getTime() - (await listening.since()).getTime()
    await eachTenant(await db.acrossTenants(queries.tenantsWithEphemerals, background), async (tenant) => {
      for (let found = sweepSize; found === sweepSize; ) {
        const silent = await db.inTenant(
          tenant,
          (tx) => queries.silentEphemerals(tx, tenant, { at, listenedMs, comeBackMs }, sweepSize),
          background,
        )
        if (silent.length > 0)
          await lifecycle.revokeAll(
            jobSource(tenant, 'revoke_silent_devices'),
            silent,
            'ephemeral device stopped reporting',
          )
        found = silent.length
      }
    })
  }

  return [
    { name: 'watch_waiting_devices', cron: '* * * * *', run: waiting.sweep },
    { name: 'revoke_silent_devices', cron: '* * * * *', run: revokeSilent },
    {
      name: 'forget_proofs',
      cron: '*/5 * * * *',
      run: () => db.acrossTenants((tx) => forgetProofs(tx, now()), background),
    },
  ]
}
