import { useMemo } from 'react'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { type GroupUse, type UsingDocument, usesIn, usesOf } from './policy-uses.ts'
import type { Group } from './words.ts'

const channels = ['stable', 'canary'] as const
type Channel = (typeof channels)[number]
/** A use of a group in the policy that a channel delivers now. */
export type PublishedUse = GroupUse & { channel: Channel; version: number; bundle_id: string }

const none: ReturnType<typeof usesIn> = new Map()

/** Reads the document that a channel delivers now, and finds its groups. */
function useChannelUses(channel: Channel) {
  const enabled = useCan()('policy:read')
  const list = useApi('GET /v1/admin/policy', { query: { channel, limit: 1 } }, { enabled })
  const bundle = list.data?.items.find(({ current }) => current)
  const detail = useApi(
    'GET /v1/admin/policy/{bundle_id}',
    { params: { bundle_id: bundle?.bundle_id ?? '' } },
    { enabled: bundle !== undefined },
  )
  const document = detail.data?.policy as UsingDocument | undefined
  const uses = useMemo(() => document && usesIn(document), [document])
  const isRead = list.data !== undefined && (bundle === undefined || uses !== undefined)
  return {
    bundle,
    uses: isRead ? (uses ?? none) : undefined,
    error: list.error ?? detail.error,
    refetch: () => (list.error || !bundle ? list.refetch() : detail.refetch()),
    dataUpdatedAt: Math.max(list.dataUpdatedAt, detail.dataUpdatedAt),
  }
}

/** Returns the uses of groups in the delivered policies, and the canary that may be rolled out to groups. */
export function usePolicyUses() {
  const mayRead = useCan()('policy:read')
  const [stable, canary] = [useChannelUses('stable'), useChannelUses('canary')]
  const ofStable = useUsesOf('stable', stable)
  const ofCanary = useUsesOf('canary', canary)
  return {
    mayRead,
    error: stable.error ?? canary.error,
    refetch: () => Promise.all([stable.refetch(), canary.refetch()]),
    dataUpdatedAt: Math.min(stable.dataUpdatedAt, canary.dataUpdatedAt),
    /** Undefined until the policies are read. */
    of: useMemo(
      () => ofStable && ofCanary && ((group: Named) => [...ofStable(group), ...ofCanary(group)]),
      [ofStable, ofCanary],
    ),
    canary: canary.bundle,
  }
}

type Named = Pick<Group, 'group_id' | 'name'>

function useUsesOf(channel: Channel, { bundle, uses }: ReturnType<typeof useChannelUses>) {
  return useMemo(() => {
    if (!uses) return undefined
    return (group: Named): readonly PublishedUse[] =>
      bundle
        ? usesOf(uses, group).map((use) => ({ ...use, channel, version: bundle.version, bundle_id: bundle.bundle_id }))
        : []
  }, [channel, bundle, uses])
}
