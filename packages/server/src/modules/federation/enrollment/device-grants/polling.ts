import { setTimeout as delay } from 'node:timers/promises'
import type { Source, TenantId } from '../../../../kernel/actor.ts'
import { newUuid } from '../../../../kernel/ids.ts'
import { minute, second } from '../../../../kernel/time.ts'
import type { FederationDeps } from '../../deps.ts'
import type { NotYet } from '../../protocols/oidc/device-grant.ts'
import type { Oidc } from '../../protocols/oidc/oidc.ts'
import { FederationError, type ProvenIdentity } from '../../protocols/proven-identity.ts'
import { findProvider, type ProviderRow } from '../../providers/providers.queries.ts'
import type { Providers } from '../../providers/providers.ts'
import { recordEnd } from './ends.ts'
import type { GrantKey, GrantRow } from './grants.queries.ts'
import * as queries from './grants.queries.ts'
import { type GrantSecrets, isOf } from './secrets.ts'

/**
 * Time of a replica's claim: for one request to the provider and for storing the result. After it another replica may
 * ask.
 */
const claimedForMs = minute
/**
 * Increase of the interval after `slow_down` (RFC 8628 §3.5), and the longest interval after requests without an
 * answer.
 */
const slowerBySeconds = 5
const slowestAfterSilence = 60
const writeAgainAfterMs = second

export const enrollsByDeviceCode = ({ enabled, enrollment, oidc }: ProviderRow): boolean =>
  enabled && enrollment && oidc !== null && oidc.device_code !== 'off'

type Deps = Pick<FederationDeps, 'db' | 'audit' | 'now' | 'onError'> & {
  oidc: Pick<Oidc, 'redeemDeviceCode'>
  providers: Pick<Providers, 'clientOf'>
  secrets: GrantSecrets
}
type Claimed = { grant: GrantRow; provider: ProviderRow | undefined; poller: string }

/**
 * Asks the provider whether somebody has approved a machine. The provider's interval applies regardless of the machine,
 * and one replica asks at a time. The request is made outside of any transaction, and only while the machine asks.
 */
export function createPolling({ db, audit, now, onError, oidc, providers, secrets }: Deps) {
  const running = new Map<string, Promise<void>>()
  const stopping = new AbortController()

  async function claim(tenant: TenantId, key: GrantKey): Promise<Claimed | undefined> {
    const poller = newUuid()
    return db.inTenant(tenant, async (tx) => {
      const at = now()
      const until = new Date(at.getTime() + claimedForMs)
      const grant = await queries.claimPoll(tx, tenant, key, { poller, at, until })
      return grant && { grant, poller, provider: await findProvider(tx, tenant, grant.provider_id) }
    })
  }

  async function ask({ grant, provider }: Claimed): Promise<ProvenIdentity | NotYet | FederationError | 'turned_off'> {
    if (!provider || !enrollsByDeviceCode(provider)) return 'turned_off'
    const code = await secrets.openCode(grant)
    if (!isOf(code, provider)) return 'turned_off'
    try {
      return await oidc.redeemDeviceCode(await providers.clientOf(provider), code.device_code)
    } catch (e) {
      if (e instanceof FederationError) return e
      throw e
    }
  }

  /** Returns the columns to store for an answer, without the time of the next poll. */
  async function outcomeOf({ grant }: Claimed, answer: Awaited<ReturnType<typeof ask>>) {
    const { interval_seconds: interval } = grant
    if (answer instanceof FederationError || answer === 'turned_off') {
      const end_reason = answer === 'turned_off' ? answer : answer.reason
      return { state: 'ended', end_reason, secret_jwe: null } as const
    }
    switch (answer) {
      case 'pending':
        return {}
      case 'slow_down':
        return { interval_seconds: interval + slowerBySeconds }
      case 'away':
        return { interval_seconds: Math.max(interval, Math.min(interval * 2, slowestAfterSilence)) }
      default:
        return { state: 'authorized', secret_jwe: await secrets.sealPerson(grant, answer) } as const
    }
  }

  async function run(by: Source, key: GrantKey): Promise<void> {
    const tenant = by.tenantId
    const claimed = await claim(tenant, key)
    if (!claimed) return
    const until = performance.now() + claimedForMs
    const { grant, poller } = claimed
    const outcome = await outcomeOf(claimed, await ask(claimed))
    const interval = 'interval_seconds' in outcome ? outcome.interval_seconds : grant.interval_seconds
    const write = () =>
      db.inTenant(tenant, async (tx) => {
        const next_poll_at = new Date(now().getTime() + interval * second)
        const isMine = await queries.settlePoll(
          tx,
          tenant,
          { ticket: key.ticket, poller },
          { ...outcome, next_poll_at },
        )
        if (isMine && 'end_reason' in outcome) await recordEnd(audit, tx, by, { ...grant, ...outcome })
      })
    // The provider gives the answer only once, so the write is retried while the database is unavailable.
    for (;;) {
      try {
        return await write()
      } catch (e) {
        onError(e as Error)
        if (performance.now() + writeAgainAfterMs > until) return
        await delay(writeAgainAfterMs, undefined, { signal: stopping.signal })
      }
    }
  }

  return {
    /** Settles when the poll is answered and stored. Concurrent callers of one grant share the poll. */
    poll: (by: Source, key: GrantKey): Promise<void> => {
      const name = `${by.tenantId} ${key.ticket.toString('base64url')} ${key.jkt}`
      const known = running.get(name)
      if (known) return known
      const one = run({ ...by, claim: null }, key).finally(() => running.delete(name))
      // Callers that await the poll receive its failure. This handler is for a failure that nobody awaits any more.
      one.catch(() => {})
      running.set(name, one)
      return one
    },
    /** Stops the retries of writes to the database. */
    stop: async (): Promise<void> => {
      stopping.abort()
      await Promise.allSettled(running.values())
    },
  }
}
