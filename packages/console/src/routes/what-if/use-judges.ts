import { useMemo } from 'react'
import { useApi } from '../../api/use-api.ts'
import type { Version } from '../policy/words.ts'
import type { JudgeId } from './question.ts'

/** Versions offered as a policy that decides. */
const offered = 50

/** Policies that can decide: the delivered one, both channels, and kept versions. */
export function useJudges() {
  const query = useApi('GET /v1/admin/policy', { query: { limit: offered } })
  const drafts = useApi('GET /v1/admin/policy-drafts', { query: { limit: offered } })
  const versions = query.data?.items ?? []
  // The version of a channel may be older than the offered ones.
  const channels = [useNewest('stable'), useNewest('canary')] as const
  const [stable, canary] = channels.map(currentOf)
  const options: { value: JudgeId; label: string }[] = [
    { value: 'delivered', label: 'Delivered now' },
    ...(stable ? [{ value: 'stable', label: `Stable v${stable.version}` }] : []),
    ...(canary ? [{ value: 'canary', label: `Canary v${canary.version}` }] : []),
    ...(drafts.data?.items ?? []).map(({ draft_id, name }) => ({ value: ofDraft(draft_id), label: `Draft ${name}` })),
    ...versions
      .filter(({ bundle_id }) => bundle_id !== stable?.bundle_id && bundle_id !== canary?.bundle_id)
      .map((version) => ({ value: version.bundle_id, label: `v${version.version}${noteOf(version)}` })),
  ]
  const failed = [query, ...channels].filter((one) => one.error !== null)
  const refetch = () => Promise.all(failed.map((one) => one.refetch()))
  return { query: { data: query.data, error: failed[0]?.error ?? null, refetch }, options, stable, canary }
}

const useNewest = (channel: Version['channel']) => useApi('GET /v1/admin/policy', { query: { channel, limit: 1 } })

/** The version that a channel delivers. A canary that has ended delivers nothing. */
function currentOf({ data }: ReturnType<typeof useNewest>): Version | undefined {
  const newest = data?.items[0]
  return newest?.current ? newest : undefined
}

/** Id of a draft as a policy that decides. */
const draftMark = 'draft:'
const ofDraft = (draftId: string): JudgeId => `${draftMark}${draftId}`

const noteOf = ({ note }: Version) => (note === '' ? '' : ` · ${note.slice(0, 60)}`)

type Judges = ReturnType<typeof useJudges>

/** Reads the document of a policy that can decide. The delivered one has that of stable, for its names. */
export function useJudge(judges: Judges, id: JudgeId | undefined) {
  const { stable, canary, options } = judges
  const ofChannel = id === 'canary' ? canary : id === 'stable' || id === 'delivered' ? stable : undefined
  const draftId = id?.startsWith(draftMark) ? id.slice(draftMark.length) : undefined
  const bundleId = ofChannel?.bundle_id ?? (isChannel(id) || draftId !== undefined ? undefined : id)
  const query = useApi(
    'GET /v1/admin/policy/{bundle_id}',
    { params: { bundle_id: bundleId ?? '' } },
    { enabled: bundleId !== undefined },
  )
  const draft = useApi(
    'GET /v1/admin/policy-drafts/{draft_id}',
    { params: { draft_id: draftId ?? '' } },
    { enabled: draftId !== undefined },
  )
  const name = query.data ? `v${query.data.version}` : draft.data && `Draft ${draft.data.name}`
  const label = options.find(({ value }) => value === id)?.label ?? name ?? ''
  const text = draft.data?.text
  const ofText = useMemo(() => (text === undefined ? undefined : documentIn(text)), [text])
  const refetch = () => Promise.all([query.error && query.refetch(), draft.error && draft.refetch()])
  return { id, label, error: query.error ?? draft.error, refetch, document: query.data?.policy ?? ofText }
}

/** A draft that is not valid JSON yet decides nothing: the server refuses it with its place. */
function documentIn(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}

export type JudgeState = ReturnType<typeof useJudge>

const isChannel = (id: JudgeId | undefined) => id === undefined || ['delivered', 'stable', 'canary'].includes(id)

type Judging = { channel?: 'canary' | 'stable'; policy?: Record<string, unknown> }

/** Part of the request of a policy that is not known yet. It is never sent, and no other request has it. */
export const unknownJudging: Judging = { policy: {} }

/** Part of a request that names the policy; undefined while its document loads, or if there is none. */
export function judgingOf({ id, document }: Pick<JudgeState, 'id' | 'document'>): Judging | undefined {
  if (id === 'delivered') return {}
  if (id === 'stable' || id === 'canary') return { channel: id }
  return document && { policy: document }
}
