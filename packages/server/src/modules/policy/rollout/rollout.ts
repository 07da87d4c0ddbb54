import type { Handlers } from '../../../http/handlers.ts'
import { idOf } from '../../../kernel/ids.ts'
import type { ReadCandidate } from '../candidate.ts'
import type { PolicyDeps } from '../deps.ts'
import type { PolicyStore } from '../store.ts'
import type { MoveVerdicts } from '../stored-verdicts.ts'
import type { Versions } from '../versions.ts'
import { createGates } from './gate.ts'
import { createHealthOf } from './health.ts'
import { createHealthView } from './health.view.ts'
import { createSessionReplay } from './replay.ts'
import { viewReplay } from './replay.view.ts'

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
