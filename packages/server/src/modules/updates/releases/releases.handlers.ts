import type { Output } from '@holdfast/contract'
import type { getRelease } from '@holdfast/contract/updates'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { requireSame, versioned } from '../../../kernel/version.ts'
import type { Release, ReleaseFields, ReleaseRow } from './releases.queries.ts'
import type { ReleaseRules } from './releases.ts'
import type { ReleaseTransitions } from './transitions.ts'

export const releaseHandlers = (releases: ReleaseRules, move: ReleaseTransitions) =>
  ({
    listReleases: async ({ actor, query }) => {
      const found = await releases.list(actor.tenantId, query)
      return { items: found.items.map(viewRelease), next_cursor: found.next_cursor }
    },
    createRelease: async ({ actor, body }) => viewRelease(await releases.create(actor, body)),
    getRelease: async ({ actor, params }) => {
      const { packages, ...row } = await releases.get(actor.tenantId, idOf('release', params.release_id))
      return versioned(row satisfies ReleaseRow, viewRelease({ ...row, packages }))
    },
    updateRelease: async ({ actor, params, body, expected }) => {
      const id = idOf('release', params.release_id)
      return viewRelease(
        await releases.replace(actor, id, fieldsOf(body), (before) => {
          expected.require(before)
          requireSame(viewFixed(before), body, fixed)
        }),
      )
    },
    deleteRelease: async ({ actor, params }) => {
      await releases.remove(actor, idOf('release', params.release_id))
      return null
    },
    changeRelease: async ({ actor, params, body, expected }) => {
      const { release, changed } = await move(actor, idOf('release', params.release_id), body, expected)
      return { operation: body.operation, changed, release: viewRelease(release) }
    },
  }) satisfies Partial<Handlers>

const fieldsOf = (r: ReleaseFields): ReleaseFields => ({
  notes: r.notes,
  notes_url: r.notes_url,
  severity: r.severity,
  mandatory: r.mandatory,
  min_from_version: r.min_from_version,
})

/** Fields that a PUT cannot change. It may send them back unchanged. */
const fixed = ['release_id', 'tenant_id', 'version', 'channel', 'created_at'] as const
const viewFixed = (r: ReleaseRow) => ({
  release_id: encodeId('release', r.release_id),
  tenant_id: encodeId('tenant', r.tenant_id),
  version: r.version,
  channel: r.channel,
  status: r.status,
  reason: r.reason,
  created_at: r.created_at.toISOString(),
  published_at: r.published_at?.toISOString() ?? null,
  promoted_at: r.promoted_at?.toISOString() ?? null,
})
const viewRollout = (r: ReleaseRow) => ({
  percent: r.rollout_percent,
  group_ids: r.rollout_group_ids.map((id) => encodeId('group', id)),
})

const viewRelease = (r: Release): Output<typeof getRelease> => ({
  ...viewFixed(r),
  ...fieldsOf(r),
  rollout: viewRollout(r),
  packages: r.packages ?? 0,
  updated_at: r.updated_at.toISOString(),
})
