import { type CompiledPolicy, type ConnectionContext, decide, parseTarget } from '@holdfast/policy'
import { background } from '../../../db/database.ts'
import type { RecordedSession } from '../../../db/tables/gateways.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { FleetDevice } from '../../devices/index.ts'
import { type ReadCandidate, refuseDocument } from '../candidate.ts'
import type { PolicyDeps } from '../deps.ts'
import type { PolicyStore } from '../store.ts'
import { checksOf, deviceFactsOf } from '../tenant-policy.ts'

/** Most sessions that are read, the newest first, and most blocked sessions that are listed. */
const mostSessions = 5000
const mostShown = 100
/** A replay yields to other work after this time, in ms. */
const sliceMs = 5

type Blocked = RecordedSession & { resource: string; reason: string }
type Touched = { sessions: number; devices: Set<string>; users: Set<string> }
export type Replayed = {
  /** Sessions that both policies have judged. */
  examined: number
  /** Sessions of devices that are revoked, suspended, locked or deleted now. A policy decides nothing about these. */
  skipped: number
  /** True if examined and skipped sessions are all of the period. */
  complete: boolean
  blocked: Touched
  byResource: Map<string, Touched>
  shown: Blocked[]
}
const nobody = (): Touched => ({ sessions: 0, devices: new Set(), users: new Set() })

/**
 * Replays the sessions of the last days under a document, by the resources that each used. A session counts as blocked
 * if the policy in force allows a resource that it used, and the document denies it. Devices are taken as they are now,
 * with groups, tags and last report. Time and address are those of the session.
 */
export function createSessionReplay({
  db,
  fleet,
  store,
  readCandidate,
  sessionHistory,
}: Pick<PolicyDeps, 'db' | 'fleet' | 'sessionHistory'> & { store: PolicyStore; readCandidate: ReadCandidate }) {
  return async (tenant: TenantId, document: unknown, days: number): Promise<Replayed> => {
    const candidate = await readCandidate(tenant, document)
    if ('errors' in candidate) refuseDocument(candidate.errors)
    const { compiled: after } = candidate
    const found = await db.inTenant(
      tenant,
      (tx) => sessionHistory.recordedSessions(tx, tenant, { days, limit: mostSessions + 1 }),
      background,
    )
    const sessions = found.slice(0, mostSessions)
    const devices = await fleet.all(tenant, checksOf([after]))
    const policy = await store.at(tenant)
    const result: Replayed = {
      examined: 0,
      skipped: 0,
      complete: found.length <= mostSessions,
      blocked: nobody(),
      byResource: new Map(),
      shown: [],
    }
    let until = performance.now() + sliceMs
    for (const session of sessions) {
      if (performance.now() >= until) {
        await new Promise(setImmediate)
        until = performance.now() + sliceMs
      }
      const device = devices.get(session.device_id)
      if (!device?.usable) {
        result.skipped++
        continue
      }
      result.examined++
      const before = policy.compiledFor(device)
      const lost = session.resources.flatMap((resource) => {
        const reason = denies(after, device, session, resource)
        return reason !== undefined && denies(before, device, session, resource) === undefined
          ? [{ resource, reason }]
          : []
      })
      const [first] = lost
      if (!first) continue
      count(result.blocked, session)
      for (const { resource } of lost) {
        const known = result.byResource.get(resource) ?? nobody()
        result.byResource.set(resource, known)
        count(known, session)
      }
      if (result.shown.length < mostShown) result.shown.push({ ...session, ...first })
    }
    return result
  }
}

function count(touched: Touched, { device_id, user_id }: RecordedSession): void {
  touched.sessions++
  touched.devices.add(device_id)
  if (user_id !== null) touched.users.add(user_id)
}

/** Returns the reason why a policy denies what a session used, or undefined if it does not. */
function denies(
  compiled: CompiledPolicy,
  device: FleetDevice,
  { last_seen_at, source_ip }: RecordedSession,
  resource: string,
): string | undefined {
  const { resources = {}, hosts = {} } = compiled.resolved.document
  const target = parseTarget(resource)
  if (!target || !(Object.hasOwn(resources, resource) || Object.hasOwn(hosts, resource)))
    return `the policy has no resource or host "${resource}"`
  const context: ConnectionContext = {
    at: last_seen_at.getTime(),
    ...(source_ip !== null && { source_ip }),
    ...(device.mfaAt !== null && { mfa_at: device.mfaAt }),
  }
  const { decision, reason } = decide(compiled, deviceFactsOf(device), context, target)
  return decision === 'deny' ? reason : undefined
}
