import { useEffect, useState } from 'react'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { inReadingOrder, textOf } from '../../policy/text.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { type Start, useStoredDraft } from './draft-store.ts'
import { Editor } from './editor.tsx'
import './editor-page.css'

/** The document of a tenant without a policy. */
const emptyDocument = {
  schema: 'holdfast.policy/1',
  resources: {},
  rules: [],
}

/** B16b: a draft of the policy as rules and as JSON. Without a draft in the address, opens the newest one of the caller. */
export function Page() {
  const { draft, from } = useSearch()
  const { change } = useNavigation()
  const own = useApi(
    'GET /v1/admin/policy-drafts',
    { query: { created_by: 'me', limit: 1 } },
    { enabled: draft === undefined && from === undefined },
  )
  const newest = own.data?.items[0]?.draft_id
  useEffect(() => {
    if (draft === undefined && from === undefined && newest !== undefined) change({ draft: newest }, { replace: true })
  }, [draft, from, newest, change])
  if (draft !== undefined) return <Stored key={draft} draftId={draft} />
  if (own.error) return <Waiting error={own.error} retry={own.refetch} />
  if (from === undefined && (own.data === undefined || newest !== undefined)) return <Waiting />
  return <FromVersion key={from} from={from === 'stable' ? undefined : from} />
}

function Waiting({ error, retry = () => undefined }: { error?: Error | null; retry?: () => unknown }) {
  return (
    <div className="page">
      <PageHead title="Draft" />
      {error ? <Problem error={error} retry={retry} what="the draft" /> : <SkeletonLines />}
    </div>
  )
}

function Stored({ draftId }: { draftId: string }) {
  const query = useStoredDraft(draftId)
  // The editor has its own state: a later answer must not replace what the person types.
  const [start, setStart] = useState<Start>()
  if (query.data && start === undefined) setStart(query.data)
  return start ? <Editor start={start} /> : <Waiting error={query.error} retry={query.refetch} />
}

/** A draft that is not stored yet: the document of a version, by default that of stable. */
function FromVersion({ from }: { from: string | undefined }) {
  const can = useCan()
  const stable = useApi('GET /v1/admin/policy', { query: { channel: 'stable', limit: 1 } }, { enabled: !from })
  const id = from ?? stable.data?.items[0]?.bundle_id
  const version = useApi(
    'GET /v1/admin/policy/{bundle_id}',
    { params: { bundle_id: id ?? '' } },
    { enabled: id !== undefined },
  )
  const [start, setStart] = useState<Start>()
  const isNew = stable.data?.items.length === 0
  if (start === undefined && (version.data || isNew)) setStart(startOf(version.data))
  if (start) return <Editor start={start} />
  return (
    <Waiting
      error={can('policy:read') ? (stable.error ?? version.error) : null}
      retry={() => Promise.all([stable.error && stable.refetch(), version.error && version.refetch()])}
    />
  )
}

type Version = { bundle_id: string; version: number; channel: 'canary' | 'stable'; digest: string; policy: object }

function startOf(version: Version | undefined): Start {
  const { bundle_id, version: number, channel, digest } = version ?? {}
  const base =
    bundle_id && number !== undefined && channel && digest ? { bundle_id, version: number, channel, digest } : null
  return {
    draft: undefined,
    name: base ? `Change of v${base.version}` : 'First policy',
    text: `${textOf(inReadingOrder(version?.policy ?? emptyDocument))}\n`,
    base,
  }
}
