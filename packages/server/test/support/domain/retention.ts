import assert from 'node:assert/strict'
import type { OwnerConnection } from '../database/owner-connection.ts'
import { type Kit, runJob } from '../deployment/deployment.ts'
import { eventsOf } from './audit-events.ts'

/** Ends the waiting period of shorter retention and of released holds, as a day later. */
export const endWaitingPeriods = (owner: OwnerConnection) =>
  owner.query(`set session_replication_role = replica;
    update retention_settings set settles_at = 'epoch';
    update retention_periods set settles_at = 'epoch';
    update legal_holds set released_at = released_at - interval '25 hours';
    set session_replication_role = default`)

export const runRetention = (kit: Kit, i = 0) => runJob(kit.replicas[i]!.app, 'forget_what_is_over')

export const retentionStatus = async (client: Kit['admin'], name: string) =>
  (await client.getRetention()).classes.find((c) => c.class === name) ?? assert.fail(name)

export const purgesOf = async (client: Kit['admin'], name: string) =>
  (await eventsOf({ admin: client }, 'retention.purged')).filter((e) => e.class === name)

type Place = Parameters<Kit['admin']['placeLegalHold']>[0]

export const placeHold = (client: Kit['admin'], body: Partial<Place['body']> = {}, more: Pick<Place, 'query'> = {}) =>
  client.placeLegalHold({ ...more, body: { reason: 'proceedings 12-34', ...body } })

export const releaseHold = (client: Kit['admin'], legal_hold_id: string, more: Pick<Place, 'query'> = {}) =>
  client.releaseLegalHold({ ...more, params: { legal_hold_id }, body: { reason: 'settled' } })
