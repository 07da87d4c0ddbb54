import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { second } from '../../../kernel/time.ts'
import type { TrustDeps } from '../deps.ts'
import type { Trusted } from '../trust.ts'
import type { Rotation } from './rotation.ts'

export const anchorHandlers = ({
  trusted,
  rotation,
  onFetched,
}: Pick<TrustDeps, 'onFetched'> & { trusted: Trusted; rotation: Rotation }) =>
  ({
    trustAnchors: async ({ actor: { tenantId, principal }, query }) => {
      const set = await trusted.anchors(tenantId, query.since)
      if (principal.kind === 'device') onFetched(tenantId, principal.id, await trusted.versionOf(tenantId))
      return set
    },
    rotateTrustAnchors: async ({ actor, body: { mode = 'planned', anchor_id, overlap_seconds = 0, reason } }) => {
      const { anchorId, replacedId, retireAfter, version } = await rotation.rotate(actor, {
        mode,
        anchorId: anchor_id === undefined ? undefined : idOf('signer', anchor_id),
        overlapMs: overlap_seconds * second,
        reason,
      })
      return {
        mode,
        anchor_id: encodeId('signer', anchorId),
        replaced_anchor_id: encodeId('signer', replacedId),
        retire_after: retireAfter?.toISOString() ?? null,
        trust_anchor_version: version,
      }
    },
  }) satisfies Partial<Handlers>
