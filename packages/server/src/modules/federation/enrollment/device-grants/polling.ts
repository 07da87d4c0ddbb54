import { setTimeout as delay } from 'node:timers/promises'
import { createLeasedWorker } from '../../../../jobs/leased-worker.ts'
import type { Source } from '../../../../kernel/actor.ts'
import { second } from '../../../../kernel/time.ts'
import type { FederationDeps } from '../../deps.ts'
import type { NotYet } from '../../protocols/oidc/device-grant.ts'
import type { Oidc } from '../../protocols/oidc/oidc.ts'
import { FederationError, type ProvenIdentity } from '../../protocols/proven-identity.ts'
import { findProvider, type ProviderRow } from '../../providers/providers.queries.ts'
import type { Providers } from '../../providers/providers.ts'
import { recordEnd } from './ends.ts'
import type { GrantKey, LeasedGrant } from './grants.queries.ts'
import * as queries from './grants.queries.ts'
import { type GrantSecrets, isOf } from './secrets.ts'

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
type Asked = { by: Source; key: GrantKey }
type Taken = { by: Source; grant: LeasedGrant; provider: ProviderRow | undefined }

/**
 * Asks the provider whether somebody has approved a machine. The provider's interval applies regardless of the machine,
 * and one replica asks at a time. The request is made outside of any transaction, and only while the machine asks.
 */
export function createPolling({ db, audit, now, onError, oidc, providers, secrets }: Deps) {
  const take = ({ by, key }: Asked): Promise<Taken | undefined> =>
    db.inTenant(by.tenantId, async (tx) => {
      const grant = await queries.takePoll(tx, by.tenantId, key, now())
      return grant && { by, grant, provider: await findProvider(tx, by.tenantId, grant.provider_id) }
    })

  async function ask({ grant, provider }: Taken): Promise<ProvenIdentity | NotYet | FederationError | 'turned_off'> {
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
  async function outcomeOf({ grant }: Taken, answer: Awaited<ReturnType<typeof ask>>) {
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

  async function poll(taken: Taken, signal: AbortSignal): Promise<void> {
    const until = performance.now() + queries.pollLeaseMs
    const { by, grant } = taken
    const outcome = await outcomeOf(taken, await ask(taken))
    const interval = 'interval_seconds' in outcome ? outcome.interval_seconds : grant.interval_seconds
    const write = () =>
      db.inTenant(by.tenantId, async (tx) => {
        const isMine = await queries.settlePoll(tx, grant, outcome, now(), interval * second)
        if (isMine && 'end_reason' in outcome) await recordEnd(audit, tx, by, { ...grant, ...outcome })
      })
    // The provider gives the answer only once, so the write is retried while the database is unavailable.
    for (;;) {
      try {
        return await write()
      } catch (e) {
        onError(e as Error)
        if (performance.now() + writeAgainAfterMs > until) return
        await delay(writeAgainAfterMs, undefined, { signal })
      }
    }
  }

  const worker = createLeasedWorker<Asked, Taken>({
    nameOf: ({ by, key }) => `${by.tenantId} ${key.ticket.toString('base64url')} ${key.jkt}`,
    take,
    work: poll,
    // Callers that await the poll receive its failure.
    onError: () => {},
  })
  return {
    /** Settles when the poll is answered and stored. Concurrent callers of one grant share the poll. */
    poll: (by: Source, key: GrantKey): Promise<void> => worker.start({ by, key }),
    /** Stops the retries of writes to the database. */
    stop: worker.stop,
  }
}
