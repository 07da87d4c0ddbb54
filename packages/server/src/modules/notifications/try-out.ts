import type { Database } from '../../db/database.ts'
import type { Actor } from '../../kernel/actor.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import type { Audit } from '../audit/index.ts'
import type { Channels, DeliveryOutcome, Sendable } from './channels.ts'
import type { ChannelSettings } from './settings.ts'

type Result = { channel: 'email' | 'webhook'; recipient: string | null; ok: boolean; error: string | null }

/** Sends one message of kind `test` to every destination, and returns the result of each. */
export function createTester({
  db,
  audit,
  now,
  settings,
  channels,
  mailAvailable,
}: {
  db: Database
  audit: Audit
  now: () => Date
  settings: Pick<ChannelSettings, 'read' | 'openSecret'>
  channels: Channels
  mailAvailable: boolean
}) {
  return async (actor: Actor, signal: AbortSignal): Promise<Result[]> => {
    const tenant = actor.tenantId
    const stored = await db.inTenant(tenant, (tx) => settings.read(tx, tenant))
    const secret = await settings.openSecret(tenant, stored)
    const { url } = stored.webhook
    const id = encodeId('notification', newUuid())
    const message: Sendable = {
      tenant_id: tenant,
      kind: 'test',
      severity: 'info',
      title: 'Test notification',
      detail: 'An administrator requested this test. No action is needed.',
      subject_type: 'settings',
      subject_id: null,
      subject_name: 'notifications',
      created_at: now(),
    }
    const result = (channel: Result['channel'], recipient: string | null, { ok, error }: DeliveryOutcome): Result => ({
      channel,
      recipient,
      ok,
      error,
    })
    const recipients = mailAvailable ? stored.email.recipients : []
    const results = await Promise.all([
      ...recipients.map(async (to) => result('email', to, await channels.mail(id, to, message, signal))),
      ...(url !== null && secret !== undefined
        ? [channels.webhook(id, { url, secret }, message, signal).then((o) => result('webhook', null, o))]
        : []),
    ])
    const succeeded = results.filter((r) => r.ok).length
    const counts = { succeeded, failed: results.length - succeeded }
    await db.inTenant(tenant, (tx) => audit.record(tx, actor, 'notification_settings.tested', counts))
    return results
  }
}
export type Tester = ReturnType<typeof createTester>
