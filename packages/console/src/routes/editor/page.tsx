import { useEffect, useState } from 'react'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { inReadingOrder, textOf } from '../../policy/text.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import type { Start } from './draft-session.ts'
import { useStoredDraft } from './draft-store.ts'
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
  const search = useSearch()
  const { draft, from, key, create } = useOpened(search.draft, search.from)
  if (draft !== undefined) return <Stored key={key} draftId={draft} onCreated={create} />
  if (from === undefined) return <Newest />
  return <FromVersion key={key} from={from === 'stable' ? undefined : from} onCreated={create} />
}

type Source = { draft: string | undefined; from: string | undefined }
/** The shown start, the key of the editor, and the draft that it has created. */
type Opened = { address: Source; source: Source; key: number; created?: string }

/** Follows the address. The open editor stays if it has created the draft that comes into the address. */
function useOpened(draft: string | undefined, from: string | undefined) {
  const { change } = useNavigation()
  const address = { draft, from }
  const [opened, setOpened] = useState<Opened>({ address, source: address, key: 0 })
  if (draft !== opened.address.draft || from !== opened.address.from)
    setOpened(
      draft !== undefined && draft === opened.created
        ? { ...opened, address }
        : { address, source: address, key: opened.key + 1 },
    )
  const create = (draftId: string) => {
    setOpened((now) => ({ ...now, created: draftId }))
    change({ draft: draftId, from: undefined }, { replace: true })
  }
  return { ...opened.source, key: opened.key, create }
}

/** Leads to the newest draft of the caller, or to a new one. */
function Newest() {
  const { change } = useNavigation()
  const own = useApi('GET /v1/admin/policy-drafts', { query: { created_by: 'me', limit: 1 } })
  // An older answer may name a draft that is deleted by now.
  const items = own.isFetching ? undefined : own.data?.items
  useEffect(() => {
    const newest = items?.[0]
    if (items) change(newest ? { draft: newest.draft_id } : { from: 'stable' }, { replace: true })
  }, [items, change])
  return <Waiting error={own.error} retry={own.refetch} />
}

function Waiting({ error, retry = () => undefined }: { error?: Error | null; retry?: () => unknown }) {
  return (
    <div className="page">
      <PageHead title="Draft" />
      {error ? <Problem error={error} retry={retry} what="the draft" /> : <SkeletonLines />}
    </div>
  )
}

type Created = { onCreated: (draftId: string) => void }

function Stored({ draftId, onCreated }: { draftId: string } & Created) {
  const query = useStoredDraft(draftId, 'edit')
  // The editor has its own state: a later answer must not replace what the person types.
  const [start, setStart] = useState<Start>()
  if (query.data && start === undefined) setStart(query.data)
  return start ? <Editor start={start} onCreated={onCreated} /> : <Waiting error={query.error} retry={query.refetch} />
}

/** A draft that is not stored yet: the document of a version, by default that of stable. */
function FromVersion({ from, onCreated }: { from: string | undefined } & Created) {
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
  if (start) return <Editor start={start} onCreated={onCreated} />
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
