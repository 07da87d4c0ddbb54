import { setTimeout as delay } from 'node:timers/promises'
import type { Hold } from '../../../../http/answer/representation.ts'
import type { Actor } from '../../../../kernel/actor.ts'
import { Representation } from '../../../../kernel/results.ts'
import { second } from '../../../../kernel/time.ts'
import { createWaiters } from '../../../../replication/waiters.ts'
import type { FederationDeps } from '../../deps.ts'
import type { Oidc } from '../../protocols/oidc/oidc.ts'
import { FederationError } from '../../protocols/proven-identity.ts'
import { findProvider } from '../../providers/providers.queries.ts'
import type { Providers } from '../../providers/providers.ts'
import type { UnresolvedAccount } from '../../sign-in/account-resolution.ts'
import type { Provisioning, ProvisioningCandidate } from '../../sign-in/provisioning.ts'
import type { NotProven } from '../enrolling.ts'
import { createGrantBegin } from './begin.ts'
import { type GrantStatus, grantStatusOf, recordEnd } from './ends.ts'
import type { GrantKey, GrantRow } from './grants.queries.ts'
import * as queries from './grants.queries.ts'
import { createPolling, enrollsByDeviceCode } from './polling.ts'
import { createGrantSecrets } from './secrets.ts'

/** Limits of held requests: of all machines, and of one machine. */
const mostHeld = 1000
const mostOfOne = 4
/** Time that a request which is not held waits for the provider's answer. */
const answerWithinMs = 8 * second
/** Interval of looking for the result of a poll that another replica makes. */
const lookAgainMs = second

type Shown = { status: GrantStatus; intervalSeconds: number; expiresAt: Date }
type Looked = { shown: Shown; againInMs: number }

/**
 * Device authorization grants (RFC 8628) for machines without a browser. The machine speaks only to this server, with a
 * challenge and its key. This server is the client of the provider, and asks it only while the machine asks.
 */
export function createDeviceGrants(
  deps: Pick<FederationDeps, 'db' | 'audit' | 'now' | 'kek' | 'onError'> & {
    oidc: Pick<Oidc, 'authorizeDevice' | 'redeemDeviceCode'>
    providers: Pick<Providers, 'clientOf'>
    provisioning: Provisioning
  },
) {
  const { db, audit, now, provisioning } = deps
  const secrets = createGrantSecrets(deps.kek)
  const polling = createPolling({ ...deps, secrets })
  const waiters = createWaiters({ max: mostHeld, perTurn: 50, oneFirst: false })
  const held = new Map<string, number>()
  const nameOf = ({ ticket, jkt }: GrantKey) => `${ticket.toString('base64url')} ${jkt}`

  /** Returns the grant's current state. Asks the provider first if a poll is due. */
  async function look(by: Actor, key: GrantKey): Promise<Looked | undefined> {
    const find = () => db.inTenant(by.tenantId, (tx) => queries.findDeviceGrant(tx, by.tenantId, key))
    const before = await find()
    if (!before || before.state === 'starting') return undefined
    const isOpen = before.state === 'pending' && before.expires_at > now()
    if (isOpen && before.next_poll_at <= now()) {
      await Promise.race([polling.poll(by, key), delay(answerWithinMs, undefined, { ref: false })])
      waiters.wake(by.tenantId, nameOf(key))
    }
    const grant = isOpen ? ((await find()) ?? before) : before
    return lookedAt(await expired(by, key, grant))
  }

  async function expired(by: Actor, key: GrantKey, grant: GrantRow): Promise<GrantRow> {
    const at = now()
    if (grant.state === 'ended' || grant.expires_at > at) return grant
    const ended = { ...grant, state: 'ended', end_reason: 'expired' } as const
    await db.inTenant(by.tenantId, async (tx) => {
      if (await queries.expireGrant(tx, by.tenantId, key, at)) await recordEnd(audit, tx, by, ended)
    })
    return ended
  }

  function lookedAt(grant: GrantRow): Looked {
    const status = grantStatusOf(grant, now())
    const { interval_seconds: intervalSeconds, expires_at: expiresAt } = grant
    const untilDue = grant.next_poll_at.getTime() - now().getTime()
    return {
      shown: { status, intervalSeconds, expiresAt },
      againInMs: grant.poller === null ? Math.max(50, untilDue) : lookAgainMs,
    }
  }

  async function wait(by: Actor, key: GrantKey, first: Looked, hold: Hold): Promise<Looked | undefined> {
    const name = `${by.tenantId} ${nameOf(key)}`
    const others = held.get(name) ?? 0
    const ticket = others < mostOfOne ? waiters.enter(by.tenantId, nameOf(key)) : undefined
    if (!ticket) {
      hold.decline()
      return first
    }
    held.set(name, others + 1)
    hold.whenGone(ticket.onClientGone)
    const deadline = performance.now() + hold.seconds * second
    try {
      for (let given: Looked | undefined = first; ; ) {
        const left = deadline - performance.now()
        if (!given || left <= 0 || !knows(hold, given)) return given
        const outcome = await ticket.next(Math.min(left, given.againInMs))
        if (outcome === 'gone' || outcome === 'stopped') return given
        given = await look(by, key)
      }
    } finally {
      ticket.leave()
      const left = (held.get(name) ?? 1) - 1
      if (left > 0) held.set(name, left)
      else held.delete(name)
    }
  }

  async function authorized(by: Actor, key: GrantKey): Promise<GrantRow | GrantStatus | undefined> {
    const found = await db.inTenant(by.tenantId, (tx) => queries.findDeviceGrant(tx, by.tenantId, key))
    if (!found) return undefined
    const grant = await expired(by, key, found)
    return grant.state === 'authorized' ? grant : grantStatusOf(grant, now())
  }

  return {
    begin: createGrantBegin({ ...deps, secrets }),

    /** Undefined if this challenge and key have begun no grant. */
    statusOf: async (by: Actor, key: GrantKey, hold: Hold | undefined): Promise<Shown | undefined> => {
      const first = await look(by, key)
      if (!first || !hold || !knows(hold, first)) return first?.shown
      return (await wait(by, key, first, hold))?.shown
    },

    /**
     * Returns the person who approved the machine, or the state of a grant that is not approved. Undefined for an
     * unknown grant.
     */
    approver: async (
      by: Actor,
      key: GrantKey,
    ): Promise<
      ((ProvisioningCandidate | NotProven) & { providerId: string }) | { status: GrantStatus } | undefined
    > => {
      const grant = await authorized(by, key)
      if (grant === undefined) return undefined
      if (typeof grant === 'string') return { status: grant }
      const proven = await secrets.openPerson(grant)
      const provider = await db.inTenant(by.tenantId, (tx) => findProvider(tx, by.tenantId, grant.provider_id))
      const { provider_id: providerId } = grant
      if (!provider) return { refused: 'turned_off', providerId }
      const spend = async (
        tx: Parameters<ProvisioningCandidate['resolveAccount']>[0],
      ): Promise<UnresolvedAccount | undefined> =>
        (await queries.spendGrant(tx, by.tenantId, key, now())) ? undefined : 'replayed'
      try {
        const requiresApproval = provider.oidc?.device_code === 'approval'
        const way = { allows: enrollsByDeviceCode, requiresApproval, spend }
        return { ...provisioning(by, provider, proven, way), providerId }
      } catch (e) {
        if (e instanceof FederationError) return { refused: e.reason, providerId }
        throw e
      }
    },

    /** Releases all held requests; none is held from now on. */
    letGo: waiters.stop,
    stop: polling.stop,
  }
}

const knows = (hold: Hold, { shown }: Looked): boolean => hold.knows(new Representation(shown.status, shown))
