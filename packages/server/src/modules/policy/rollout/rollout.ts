import type { Contract, Output } from '@holdfast/contract'
import type { Database } from '../../../db/database.ts'
import type { Handlers } from '../../../http/handlers.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId, idOf, missing } from '../../../kernel/ids.ts'
import type { ReadCandidate } from '../candidate.ts'
import type { PolicyDeps } from '../deps.ts'
import { bundleById } from '../policy.queries.ts'
import type { PolicyStore } from '../store.ts'
import type { MoveVerdicts } from '../stored-verdicts.ts'
import type { Versions } from '../versions.ts'
import { viewGate } from '../view.ts'
import { createGates } from './gate.ts'
import { createHealthOf, type HealthOf, reportedFrom } from './health.ts'
import { createSessionReplay, type Replayed } from './replay.ts'
import { compareChannels } from './verdict.ts'

/** Rollout from a draft to every device: replay, canary health, and rollback by a gate. */
export function createRollout(
  rolloutDeps: PolicyDeps & {
    store: PolicyStore
    versions: Versions
    readCandidate: ReadCandidate
    moveVerdicts: MoveVerdicts
  },
) {
  const deps = { ...rolloutDeps, healthOf: createHealthOf(rolloutDeps) }
  const gates = createGates(deps)
  const health = createHealthView(deps)
  const replay = createSessionReplay(deps)
  return {
    handlers: {
      getPolicyHealth: ({ actor, params }) => health(actor.tenantId, idOf('policy_bundle', params.bundle_id)),
      replayPolicy: async ({ actor, body }) => {
        const found = await replay(actor.tenantId, body.policy, body.days ?? 7)
        const counts = { sessions: found.examined, blocked: found.blocked.sessions }
        await rolloutDeps.audit.note(actor, 'policy.replayed', counts)
        return viewReplay(found)
      },
    } satisfies Partial<Handlers>,
    jobs: [{ name: 'judge_canaries', cron: '* * * * *', run: gates.judge }],
  }
}

/** Health of a canary version: current while it is under way, and later as its gate last saw it. */
const createHealthView =
  ({ db, store, healthOf, now }: { db: Database; store: PolicyStore; healthOf: HealthOf; now: () => Date }) =>
  async (tenant: TenantId, bundleId: string): Promise<Output<Contract['getPolicyHealth']>> => {
    const bundle = (await db.inTenant(tenant, (tx) => bundleById(tx, tenant, bundleId))) ?? missing('policy_bundle')
    const running = (await store.at(tenant)).runningCanary?.version === bundle.version
    const until = running ? now() : (bundle.gate_judged_at ?? bundle.published_at)
    const health = running ? await healthOf(tenant, bundle.published_at) : bundle.gate_health
    return {
      bundle_id: encodeId('policy_bundle', bundle.bundle_id),
      version: bundle.version,
      running,
      since: reportedFrom(bundle.published_at, until).toISOString(),
      canary: health?.canary ?? null,
      stable: health?.stable ?? null,
      measures: health ? compareChannels(health) : [],
      gate: viewGate(bundle),
    }
  }

/** Most resources listed, those with the most sessions first. */
const mostResources = 100

const viewReplay = ({
  examined,
  skipped,
  complete,
  blocked,
  byResource,
  shown,
}: Replayed): Output<Contract['replayPolicy']> => ({
  sessions_examined: examined,
  sessions_skipped: skipped,
  complete,
  sessions_blocked: blocked.sessions,
  devices_blocked: blocked.devices.size,
  users_blocked: blocked.users.size,
  resources: [...byResource]
    .map(([resource, { sessions, users }]) => ({ resource, sessions, users: users.size }))
    .toSorted((a, b) => b.sessions - a.sessions || (a.resource < b.resource ? -1 : 1))
    .slice(0, mostResources),
  blocked: shown.map((s) => ({
    session_id: encodeId('vpn_session', s.session_id),
    device_id: encodeId('device', s.device_id),
    user_id: s.user_id && encodeId('user', s.user_id),
    started_at: s.started_at.toISOString(),
    resource: s.resource,
    reason: s.reason,
  })),
})
