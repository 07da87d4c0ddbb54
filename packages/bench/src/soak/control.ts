import { setTimeout as delay } from 'node:timers/promises'
import type { Postgres } from '../deployment/postgres.ts'
import type { Observer } from '../trial/observer.ts'
import type { Record } from '../trial/record.ts'

/**
 * Corrupts the data without the server: deletes an acknowledged user, marks an existing one as refused, and suspends a
 * device without an entry in the change log. A check that does not detect this is useless.
 */
export async function loseSomething(postgres: Postgres, record: Record, observer: Observer): Promise<void> {
  const made = record.made.filter(({ kind, outcome }) => kind === 'user' && outcome === 'acknowledged')
  await postgres.query('update users set deleted_at = now() where username = $1', [made[0]?.marker])
  record.made.push({ kind: 'user', marker: made[1]?.marker ?? '', outcome: 'refused' })
  await postgres.query(
    `update devices d set status = 'suspended' from users u
     where d.user_id = u.user_id and u.status = 'active' and d.status = 'active' and 'watched' = any (d.tags)`,
  )
  await delay(1_000 + 100 * observer.devices.size)
}
