import { useMemo } from 'react'
import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { parseText } from '../../editor/document.ts'
import { useSearch } from '../../navigation.ts'
import type { Document } from '../../policy/difference.ts'
import { Differences } from '../../policy/differences.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { Frame } from '../../ui/frame.tsx'
import { Note } from '../../ui/note.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { useStoredDraft } from '../editor/draft-store.ts'
import { areSettled } from '../policy/use-channels.ts'
import type { Version } from '../policy/words.ts'
import { BlockedSessions, useReplay } from './blocked-sessions.tsx'
import { ImpactCard } from './impact-card.tsx'
import { PublishCard } from './publish-card.tsx'
import { TestsCard } from './tests-card.tsx'

const emptyDocument: Document = {}

/** B17b: the changes of a draft, their impact, and its publication. */
export function Page() {
  const { draft: draftId = '' } = useSearch()
  const isNamed = { enabled: draftId !== '' }
  const draft = useStoredDraft(draftId, 'review')
  const stable = useApi('GET /v1/admin/policy', { query: { channel: 'stable', limit: 1 } }, isNamed)
  const canary = useApi('GET /v1/admin/policy', { query: { channel: 'canary', limit: 1 } }, isNamed)
  const current = stable.data?.items[0]
  const running = canary.data?.items[0]
  const error = draft.error ?? stable.error ?? canary.error
  const isRead = draft.data !== undefined && stable.data !== undefined && canary.data !== undefined
  return (
    <div className="page">
      <PageHead
        title="Review"
        crumbs={[
          { to: '/admin/policy', label: 'Policy' },
          { to: `/admin/policy/edit?draft=${draftId}`, label: draft.data?.draft.name ?? 'Draft' },
        ]}
        sub={isRead && (current ? `draft against stable v${current.version}` : 'the first version')}
        actions={
          <ButtonLink to={`/admin/policy/edit?draft=${draftId}`} kind="ghost">
            Back to draft
          </ButtonLink>
        }
      />
      {draftId === '' && <NoDraft />}
      {error && (
        <Problem
          error={error}
          what="this draft"
          retry={() => Promise.all([draft, stable, canary].filter((one) => one.error).map((one) => one.refetch()))}
          elsewhere={<AppLink to="/admin/policy/edit">Open the editor</AppLink>}
        />
      )}
      {draftId !== '' && !isRead && !error && (
        <Frame title="What changes">
          <SkeletonLines />
        </Frame>
      )}
      {isRead && (
        <Reviewed
          draftId={draftId}
          etag={draft.data.etag}
          name={draft.data.draft.name}
          base={draft.data.draft.base}
          text={draft.data.draft.text}
          stable={current}
          canary={running?.current ? running : undefined}
          lastCanary={running}
        />
      )}
    </div>
  )
}

const NoDraft = () => (
  <Note
    title="No draft is named in the address."
    actions={<ButtonLink to="/admin/policy/edit">Open the editor</ButtonLink>}
  >
    A review begins in the editor.
  </Note>
)

type Base = OutputOf<'GET /v1/admin/policy-drafts/{draft_id}'>['base']
type Props = {
  draftId: string
  /** Version of the draft that is reviewed. */
  etag: string | undefined
  name: string
  base: Base
  text: string
  stable: Version | undefined
  canary: Version | undefined
  lastCanary: Version | undefined
}

function Reviewed({ draftId, etag, name, base: draftBase, text, stable, canary, lastCanary }: Props) {
  const { document, problems } = useMemo(() => parseText(text), [text])
  const base = useApi(
    'GET /v1/admin/policy/{bundle_id}',
    { params: { bundle_id: stable?.bundle_id ?? '' } },
    { enabled: stable !== undefined },
  )
  const before = stable ? base.data?.policy : emptyDocument
  const body = { policy: document ?? emptyDocument }
  // The parts appear together, so that nothing moves.
  const impact = useApi('POST /v1/admin/policy/simulate', { body }, { enabled: document !== undefined })
  const tests = useApi('POST /v1/admin/policy/validate', { body }, { enabled: document !== undefined })
  const replay = useReplay(document)
  if (!document)
    return (
      <Note
        kind="bad"
        title="The draft is not valid JSON."
        actions={<ButtonLink to={`/admin/policy/edit?draft=${draftId}`}>Back to draft</ButtonLink>}
      >
        {problems[0]?.message ?? ''}
      </Note>
    )
  if (!areSettled(base, impact, tests, replay))
    return (
      <Frame title="What changes">
        <SkeletonLines />
      </Frame>
    )
  return (
    <div className="cols">
      <div className="c8 stack">
        <OldBase draftId={draftId} base={draftBase} stable={stable} />
        {base.error && <Problem error={base.error} retry={base.refetch} what="the stable version" />}
        {before && (
          <Differences
            before={before}
            after={document}
            label={`Text of ${stable ? `v${stable.version}` : 'nothing'} and the draft`}
          />
        )}
        <BlockedSessions document={document} />
      </div>
      <div className="c4 stack">
        <ImpactCard document={document} draftId={draftId} />
        <TestsCard document={document} before={before} />
        <PublishCard
          draftId={draftId}
          etag={etag}
          name={name}
          document={document}
          stable={stable}
          canary={canary}
          lastCanary={lastCanary}
        />
      </div>
    </div>
  )
}

type OldBaseProps = { draftId: string; base: Base; stable: Version | undefined }

/** Stable has a newer version than the draft began with: a publication would take its changes back. */
function OldBase({ draftId, base, stable }: OldBaseProps) {
  if (!stable || base?.digest === stable.digest || (base && base.version > stable.version)) return null
  return (
    <Note
      kind="warn"
      title={`Stable is now v${stable.version}, and the draft began with ${base ? `v${base.version}` : 'no version'}.`}
      actions={
        <ButtonLink size="sm" to={`/admin/policy/edit?draft=${draftId}`}>
          Merge in the editor
        </ButtonLink>
      }
    >
      A publication takes back each change of stable that the draft does not have.
    </Note>
  )
}
